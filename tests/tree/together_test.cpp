// together.awk on pairs of small files: which of them may be compiled together.
#include <gtest/gtest.h>
#include <tree/files.h>

#include "temporary_directory.h"

namespace diecast::tree {
namespace {

// Whether files with these lines in `namespace {` get groups of their own.
bool apart(const std::string& one, const std::string& other) {
  const testing::TemporaryDirectory folder;
  ProcessRequest request;
  request.arguments = {"/usr/bin/env", "awk", "-v", "most=16", "-f", kRoot + "/src/together.awk"};
  for (const auto& [name, lines] : {std::pair{"one.cpp", one}, {"other.cpp", other}}) {
    testing::write_text(folder / name, "namespace {\n" + lines + "\n}  // namespace\n");
    request.arguments.push_back(folder / name);
  }
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  return run.output.find("\n2 ") != std::string::npos;
}

TEST(Together, EachNameOfADeclarationIsTheFilesOwn) {
  const std::string declarations[] = {"const std::string kFirst = \"a, b = c\", kSecond = \"d\";",
                                      "constexpr char kFirst[] = \"a\",\n    kSecond[] = \"d\";",
                                      "constexpr char kFirst[] = \"a\", kSecond[] =\n    \"d\";",
                                      "constexpr Pair kFirst{1, ','}, kSecond{\n    2, 3};",
                                      "std::map<int, Value> kFirst = {{1, 2},\n {3, 4}}, kSecond;",
                                      "int kFirst, kSecond = 2;"};
  for (const std::string& several : declarations) {
    for (const std::string name : {"kFirst", "kSecond"})
      EXPECT_TRUE(apart(several, "int kThird = 1, " + name + " = 2;")) << several << name;
  }
}

TEST(Together, OtherNamesOfADeclarationAreNotTheFilesOwn) {
  const std::string declarations[] = {
      "const std::map<int, kOther> kFirst = {{1, 2}, {kOther, 3}}, kSecond;",
      "constexpr int kFirst = sum(kSecond, kOther), kThird = kOther;",
      "enum class First : kOther { second, third };",
      "struct First : Second, Third {\n  int a, kOther;\n};\nint kFirst = f(1,\n kOther, 2);"};
  for (const std::string& several : declarations)
    EXPECT_FALSE(apart(several, "int last = kOther;")) << several;
}

}  // namespace
}  // namespace diecast::tree
