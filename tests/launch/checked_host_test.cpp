// A debug build on the host: every way to leave a tensor argument is the launch's error, with the
// line and the index; what is right stays right.
#include <diecast/compile/host_cxx.h>
#include <diecast/launch/host_device.h>
#include <diecast/launch/kernel.h>
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "launch/checked_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

Specialization checked(const std::string& body, bool bias = true) {
  const auto tmpl = Template::parse("checked", testing::checked_kernel(body)).value();
  return Specialization::make(tmpl, Bindings{}.set("HAS_BIAS", bias), Target{}).value();
}

Result<Artifact> compile(const Specialization& one, BuildKind build = BuildKind::debug) {
  const Source source = render(one, TemplateFiles::embedded(), build).value();
  return open_host_cxx(HostCxxOptions::from_environment()).value()->compile(source, Target{});
}

std::shared_ptr<Kernel> kernel_of(const std::string& body, bool bias = true) {
  const auto device = open_host_device({.threads = 1}).value();
  const Specialization one = checked(body, bias);
  auto compiled = compile(one);
  if (!compiled) return ADD_FAILURE() << compiled.error().message(), nullptr;
  auto artifact = std::make_shared<Artifact>(*std::move(compiled));
  EXPECT_EQ(artifact->log, "");
  artifact->argument_schema = one.argument_schema();
  auto kernel = Kernel::make(one, artifact, device).value();
  kernel->preload().value();
  return kernel;
}

// On 8 elements, and 2 rows 6 elements apart.
Result<void> launch(const Kernel& kernel, std::int64_t at) {
  std::vector<float> x(8, 1), y(8), m(10, 1), bias(8, 1);
  std::vector<std::int32_t> sums(2);
  const bool has_bias = kernel.specialization().number("HAS_BIAS") != 0;
  return kernel.launch(
      {{"x", KernelArgument::tensor(DType::f32, x.data())},
       {"y", KernelArgument::tensor(DType::f32, y.data())},
       {"m", KernelArgument::tensor(DType::f32, m.data(), 6)},
       {"bias", KernelArgument::tensor(DType::f32, has_bias ? bias.data() : nullptr)},
       {"sums", KernelArgument::tensor(DType::i32, sums.data())},
       {"n", KernelArgument::size(8)},
       {"rows", KernelArgument::size(2)},
       {"at", KernelArgument::scalar(at)}},
      {});
}

TEST(CheckedOnHost, WhatIsRightStaysRight) {
  for (const bool bias : {true, false}) {
    const auto kernel = kernel_of(testing::kRightBody, bias);
    ASSERT_TRUE(kernel);
    const auto done = launch(*kernel, 0);
    EXPECT_TRUE(done) << done.error().message();
  }
}

struct Planted {
  const char* code;  // with `at`
  std::int64_t right, wrong;
  const char* says;
};

TEST(CheckedOnHost, EachWayOutOfATensorIsTheErrorOfTheLaunch) {
  constexpr Planted kPlanted[] = {
      {"y[0] = x[at];", 7, 8, "x[8] is outside of its 8 elements"},
      {"y[0] = x[at];", 0, -1, "x[-1] is outside of its 8 elements"},
      {"y[at] = 1;", 7, 8, "y[8] is outside of its 8 elements"},
      {"y[0] = *(x + at);", 7, 8, "x[8] is outside of its 8 elements"},
      {"*(y + 1 + at) = 1;", 6, 7, "y[8] is outside of its 8 elements"},
      {"y += at; *y = 1;", 7, 9, "y[9] is outside of its 8 elements"},
      {"sums[at] += 1;", 1, 2, "sums[2] is outside of its 2 elements"},
      {"atomicAdd(&sums[at], 1);", 1, 2, "sums[2] is outside of its 2 elements"},
      {"y[0] = m[at];", 9, 10, "m[10] is outside of its 10 elements"},
      {"const f32* p = x + at; y[0] = p == nullptr;", 8, 9, "x[9] is outside of its 8 elements"},
      {"y[0] = first_of(x + at);", 7, 9, "x[9] is outside of its 8 elements"},
      {"const Pair* p = reinterpret_cast<const Pair*>(x + at); y[0] = p == nullptr;", 8, -2,
       "x[-2] is outside of its 8 elements"},
      {"y[0] = *(at > 0 ? x + at : nullptr);", 7, 8, "x[8] is outside of its 8 elements"},
      {"y[0] = *(at > 0 ? x + at : nullptr);", 7, 0, "nullptr[0] is outside of its 0 elements"},
      {"const auto* p = x + 1; y[0] = p[at];", 6, 7, "x[8] is outside of its 8 elements"},
      {"y[0] = *(at > 0 ? y + at : x);", 7, 8, "y[8] is outside of its 8 elements"},
      {"y[0] = (x + at)[-1];", 8, 0, "x[-1] is outside of its 8 elements"},
  };
  for (const Planted& planted : kPlanted) {
    SCOPED_TRACE(planted.code);
    const auto kernel = kernel_of(planted.code);
    ASSERT_TRUE(kernel);
    const auto right = launch(*kernel, planted.right);
    EXPECT_TRUE(right) << right.error().message();
    const auto wrong = launch(*kernel, planted.wrong);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::assertion_failed);
    EXPECT_NE(wrong.error().what.find(std::string("checked.cu:21: ") + planted.says),
              std::string::npos)
        << wrong.error().what;
  }
}

TEST(CheckedOnHost, WhatTakesPointersAloneIsToldTheWayOut) {
  for (const char* body : testing::kForPointers) {
    EXPECT_TRUE(compile(checked(body), BuildKind::plain)) << body;
    const auto refused = compile(checked(body));
    ASSERT_FALSE(refused) << body;
    EXPECT_EQ(refused.error().fix, testing::kForPointersFix) << refused.error().what;
  }
  const auto other = compile(checked("y[0] = atomicAdd(y + 1, 1.0f);"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().fix.find("debug"), std::string::npos) << other.error().message();
  EXPECT_NE(other.error().fix.find("or leave the host out by `target sm_80+`"), std::string::npos);
}

// A debugger opens what the loader names.
TEST(CheckedOnHost, TheCodesFileIsThereForDebuggers) {
  const auto kernel = kernel_of("y[0] = 1;");
  ASSERT_TRUE(kernel);
  std::vector<std::string> names;
  const auto add = [](dl_phdr_info* library, std::size_t, void* to) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(library->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &names);
  const std::string own = "/proc/" + std::filesystem::read_symlink("/proc/self").string() + "/fd";
  EXPECT_TRUE(std::ranges::any_of(names, [&](const std::string& name) {
    return name.starts_with(own) && std::filesystem::exists(name);
  }));
}

TEST(CheckedOnHost, ATensorThatIsNotThereHasNoElements) {
  const auto kernel = kernel_of("y[0] = bias[at];", false);
  ASSERT_TRUE(kernel);
  const auto wrong = launch(*kernel, 0);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().what.find("bias[0] is outside of its 0 elements"), std::string::npos);
}

}  // namespace
}  // namespace diecast

#endif
