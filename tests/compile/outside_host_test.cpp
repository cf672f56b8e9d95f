// Nothing outside the text decides what the host's compilers make of it.
#include <diecast/base/process.h>
#include <diecast/compile/host_cxx.h>
#include <gtest/gtest.h>
#include <template/outside_spellings.h>

#include <set>

#include "compile/outside_file.h"

namespace diecast {
namespace {

using testing::OutsideFile;
using testing::Spelling;

const Target kPlain{Target::Kind::host, 0, 0, 1};

// Every C++ compiler of this machine: g++ and clang++ have readings of their own.
std::vector<std::shared_ptr<Compiler>> compilers() {
  std::vector<std::shared_ptr<Compiler>> out;
  for (const char* name : {"g++", "clang++"})
    if (!find_program(name).empty()) out.push_back(open_host_cxx({name, ""}).value());
  return out;
}

TEST(HostOutside, NoSpellingReadsAFile) {
  const OutsideFile file;
  for (const auto& compiler : compilers())
    for (const auto& [name, text] : testing::outside_spellings()) {
      const Source source{"k.cu", "k", testing::with_oracle(text, file.path(), "")};
      EXPECT_FALSE(file.decides([&] { return testing::outcome_of(*compiler, source, kPlain); }))
          << name << " by " << compiler->description();
    }
}

// What the same compiler makes of the text if nobody looks at it first.
std::string unchecked(const std::string& program, const std::string& text, const char* what) {
  const testing::TemporaryDirectory folder;
  testing::write_text(folder / "k.cpp", text);
  ProcessRequest request;
  request.arguments = {program, "-std=c++17", what, "-o", "k.o", "k.cpp"};
  request.directory = folder.path();
  const ProcessResult result = run_process(request).value();
  std::string errors = result.errors;  // without the names of the assembler's files
  for (std::size_t at = errors.find("/tmp/cc"); at != errors.npos; at = errors.find("/tmp/cc"))
    errors.erase(at, 15);
  std::ifstream made(folder / "k.o", std::ios::binary);
  return errors + std::string(std::istreambuf_iterator<char>(made), {});
}

// A list of harmless spellings would show nothing.
TEST(HostOutside, TheSpellingsDoReadAFileWhereNobodyLooks) {
  if (find_program("g++").empty()) GTEST_SKIP() << "no g++ on this machine";
  const OutsideFile file;
  std::set<std::string_view> reading;
  const auto look = [&](const std::vector<Spelling>& list, const char* what) {
    for (const auto& [name, text] : list) {
      const std::string whole = testing::with_oracle(text, file.path(), "");
      if (file.decides([&] { return unchecked("g++", whole, what); })) reading.insert(name);
    }
  };
  look(testing::including_spellings(), "-E");
  look(testing::asking_spellings(), "-E");
  look(testing::assembling_spellings(), "-c");
  EXPECT_GE(reading.size(), 40u);
}

TEST(HostOutside, TheAssemblersFilesAreSeenToo) {
  if (find_program("g++").empty()) GTEST_SKIP() << "no g++ on this machine";
  const OutsideFile file;
  testing::write_text(file.path(), "x");
  const auto compiler = open_host_cxx({"g++", ""}).value();
  const Source source{
      "k.cu", "k",
      testing::with_oracle("__attribute__((section(\".foo\\n.incbin \\\"@\\\"\\n#\"))) int y = 1;",
                           file.path(), "")};
  const auto made = compiler->compile(source, kPlain);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(),
            cat("diecast: parse_error: k.cu reads \"", file.path(),
                "\", which is outside its text\n  fix: a kernel's text is complete in itself: "
                "write what it needs into the file"));
}

TEST(HostOutside, AsmIsRefusedWithItsWayOut) {
  for (const auto& compiler : compilers()) {
    const auto made =
        compiler->compile({"k.cu", "k", "extern \"C\" void k() { asm(\"nop\"); }\n"}, kPlain);
    ASSERT_FALSE(made) << compiler->description();
    EXPECT_NE(made.error().fix.find("the host has no asm"), std::string::npos)
        << made.error().message();
    EXPECT_TRUE(compiler->compile(
        {"k.cu", "k", "#if 0\nasm(\"nop\");\n#endif\nextern \"C\" void k() {}\n"}, kPlain))
        << compiler->description();
  }
}

}  // namespace
}  // namespace diecast
