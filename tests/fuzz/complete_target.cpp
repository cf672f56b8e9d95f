// Texts to compile: whether a file is there makes no difference to one that is accepted. The
// oracles are g++'s preprocessor and NVRTC, where they are here: asked with the file and without.
#include "fuzz/complete_target.h"

#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/nvrtc.h>
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
  if (place().program.empty()) return {};
  write_text(place().folder / "k.cpp", std::string(text));
  ProcessRequest request;
  request.arguments = {place().program, "-std=c++17", "-E", "k.cpp"};
  request.directory = place().folder.path();
  const ProcessResult result = run_process(request).value();
  return result.output + result.errors;
}

std::string compiled(std::string_view text) {
  static const auto nvrtc = open_nvrtc(NvrtcSearch::from_environment());
  if (!nvrtc) return {};
  const auto made = (*nvrtc)->compile({"fuzz.cu", "k", std::string(text)},
                                      Target{Target::Kind::cuda, 90, 'a', 1});
  if (!made) return made.error().message();
  return cat(made->log, xxh3_128(made->payload).hex());
}

}  // namespace

void fuzz_complete(std::string_view input) {
  const auto outcome = check_complete({"fuzz.cu", "fuzz", std::string(input)});
  if (!outcome) return must(!outcome.error().fix.empty());
  const std::string file = place().folder / "x.h";
  if (input.find(file) == input.npos) return;
  write_text(file, "#define ORACLE 1\n");
  const std::string with = preprocessed(input), code = compiled(input);
  std::filesystem::remove(file);
  must(preprocessed(input) == with);
  must(compiled(input) == code);
}

std::vector<std::string> complete_seeds() {
  std::vector<std::string> out;
  for (const Spelling& spelling : outside_spellings())
    out.push_back(with_oracle(spelling.text, place().folder / "x.h", "__global__"));
  out.push_back(
      with_oracle("#define P(a, b) a##_of_##b\n_Pragma(\"unroll 4\")\n#if X > 1'0\n#endif\n"
                  "auto s = R\"x(@)x\"; // @\n",
                  place().folder / "x.h", "__global__"));
  return out;
}

}  // namespace diecast::testing
