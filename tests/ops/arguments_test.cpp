// The structures of kernels' arguments are those of the templates' headers: names, order and kinds.
#include <diecast/kernel_arguments.h>
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

template <class Arguments>
void expect_as_declared(const Template& tmpl) {
  ASSERT_EQ(tmpl.arguments().size(), Arguments::kNames.size()) << tmpl.name();
  for (std::size_t i = 0; i < Arguments::kNames.size(); ++i)
    EXPECT_EQ(tmpl.arguments()[i].name, Arguments::kNames[i]) << tmpl.name();
}

TEST(KernelArguments, HaveTheNamesOfEveryTemplateInItsOrder) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  std::size_t count = 0;
  args::for_each([&]<class Arguments>(std::type_identity<Arguments>) {
    ++count;
    const auto tmpl = runtime->find_template(Arguments::kTemplate);
    ASSERT_TRUE(tmpl) << Arguments::kTemplate;
    expect_as_declared<Arguments>(**tmpl);
  });
  EXPECT_EQ(count, runtime->template_names().size());
}

}  // namespace
}  // namespace diecast
