// The text of a debug build: an `auto*` takes a checked pointer as it is.
#include <diecast/template/source.h>
#include <gtest/gtest.h>

#include <string>

namespace diecast {
namespace {

// What a kernel with this body is rendered as.
std::string rendered(const std::string& body, BuildKind build) {
  const auto tmpl = Template::parse(
      "k", "/* diecast\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL { " + body + " }\n");
  const auto made = Specialization::make(*tmpl, {}, Target::parse("sm_90a").value());
  const std::string text = render(*made, TemplateFiles::embedded(), build).value().text;
  const std::string before = "\nDIECAST_KERNEL { ";
  const std::size_t begin = text.rfind(before) + before.size();
  return text.substr(begin, text.rfind(" }\n") - begin);
}

TEST(SourceOfADebugBuild, KeepsCheckedPointersWhereAutoIsAPointer) {
  const std::string body =
      "const auto* p = x; auto  const*__restrict__ q = x; auto** r = s; /* auto* */ auto*\nt = u;";
  EXPECT_EQ(rendered(body, BuildKind::debug),
            "      auto  p = x; auto                     q = x; auto** r = s; /* auto* */ auto \n"
            "t = u;");
  EXPECT_EQ(rendered(body, BuildKind::lines), body);
}

TEST(SourceOfADebugBuild, KeepsThemInEveryVariableOfADeclaration) {
  EXPECT_EQ(rendered("auto *a = x, *b = y, * __restrict__ c(z);", BuildKind::debug),
            "auto  a = x,  b = y,                c(z);");
  EXPECT_EQ(
      rendered("for (auto* i = f(x, *y), *e = g; ; h(1, *i = 2)) k(1, *e = 3);", BuildKind::debug),
      "for (auto  i = f(x, *y),  e = g; ; h(1, *i = 2)) k(1, *e = 3);");
}

}  // namespace
}  // namespace diecast
