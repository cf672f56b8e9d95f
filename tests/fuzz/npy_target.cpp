// See npy_target.h.
#include "fuzz/npy_target.h"

#include <diecast/base/npy.h>

#include "fuzz/targets.h"

namespace diecast::testing {
namespace {

std::string written(const NpyArray& array, std::string_view elements) {
  const Bytes header = npy_header(array.type, array.shape);
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
         std::string(elements);
}

}  // namespace

// What is read lies in the file, and reads back as the same once it is written.
void fuzz_npy(std::string_view input) {
  const auto array = parse_npy(as_bytes(input), "fuzz.npy");
  if (!array) {
    must(!array.error().fix.empty());
    return;
  }
  must(array->begin <= input.size());
  const std::string_view elements = input.substr(array->begin);
  const std::string file = written(*array, elements);
  const auto again = parse_npy(as_bytes(file), "again.npy");
  must(again && again->type == array->type && again->shape == array->shape);
  must(file.substr(again->begin) == elements);
}

std::vector<std::string> npy_seeds() {
  return {written({"<f4", {2, 3}, 0}, std::string(24, 'x')), written({"|u1", {}, 0}, "x"),
          written({"<V2", {0, 7}, 0}, "")};
}

}  // namespace diecast::testing
