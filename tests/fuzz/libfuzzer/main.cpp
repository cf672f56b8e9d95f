// All targets in one libFuzzer program, whose first argument is a target's name:
//
//   fuzz entry NEW_INPUTS tests/fuzz/corpus/entry
//
// The target's seeds are written into the first folder. `fuzz list` prints the names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "fuzz/targets.h"

namespace {

const diecast::testing::FuzzTarget* chosen = nullptr;

void write_seeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : chosen->seeds()) {
    std::ofstream(folder + "/seed" + std::to_string(number++), std::ios::binary) << seed;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string name = *count > 1 ? (*arguments)[1] : "";
  for (const auto& target : diecast::testing::fuzz_targets()) {
    if (name == target.name) chosen = &target;
  }
  if (name == "list") {
    for (const auto& target : diecast::testing::fuzz_targets()) std::puts(target.name);
    std::exit(0);
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: fuzz list | fuzz TARGET [FOLDER...] [libFuzzer's options]\n");
    std::exit(2);
  }
  (*arguments)[1] = (*arguments)[0];
  ++*arguments;
  --*count;
  if (*count > 1 && (*arguments)[1][0] != '-') write_seeds((*arguments)[1]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
