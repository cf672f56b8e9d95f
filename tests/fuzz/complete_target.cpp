// Texts to compile: whether a file is there makes no difference to one that is accepted. The
// oracle is the preprocessor of this machine, which is asked with the file and without.
#include "fuzz/complete_target.h"

#include <diecast/base/process.h>
#include <diecast/template/complete_source.h>

#include <filesystem>

#include "fuzz/targets.h"
#include "template/outside_spellings.h"
#include "temporary_directory.h"

namespace diecast::testing {
namespace {

struct Place {
  TemporaryDirectory folder;
  std::string program = find_program("g++");
};

const Place& place() {
  static const Place made;
  return made;
}

std::string preprocessed(std::string_view text) {
  write_text(place().folder / "k.cpp", std::string(text));
  ProcessRequest request;
  request.arguments = {place().program, "-std=c++17", "-E", "k.cpp"};
  request.directory = place().folder.path();
  const ProcessResult result = run_process(request).value();
  return result.output + result.errors;
}

}  // namespace

void fuzz_complete(std::string_view input) {
  const auto outcome = check_complete({"fuzz.cu", "fuzz", std::string(input)});
  if (!outcome) return must(!outcome.error().fix.empty());
  const std::string file = place().folder / "x.h";
  if (place().program.empty() || input.find(file) == input.npos) return;
  write_text(file, "#define ORACLE 1\n");
  const std::string with = preprocessed(input);
  std::filesystem::remove(file);
  must(preprocessed(input) == with);
}

std::vector<std::string> complete_seeds() {
  std::vector<std::string> out;
  for (const Spelling& spelling : outside_spellings())
    out.push_back(with_oracle(spelling.text, place().folder / "x.h", ""));
  out.push_back(
      with_oracle("#define P(a, b) a##_of_##b\n_Pragma(\"unroll 4\")\n#if X > 1'0\n#endif\n"
                  "auto s = R\"x(@)x\"; // @\n",
                  place().folder / "x.h", ""));
  return out;
}

}  // namespace diecast::testing
