// A small file of reference vectors that passes, to be damaged, and what is said of it.
#pragma once

#include <checkpoint/checkpoint_files.h>
#include <checkpoint/reference_vector_kernels.h>
#include <diecast/checkpoint/vectors.h>
#include <temporary_directory.h>

#include <string>
#include <vector>

namespace diecast::testing {

inline Result<VectorReport> check_file(const std::string& path,
                                       const VectorKernels& kernels = reference_vector_kernels()) {
  DIECAST_TRY(const diecast::SafetensorsReader reader, diecast::SafetensorsReader::open(path));
  return check_vectors(reader, kernels);
}

inline TestFile small() {
  TestFile file;
  file.metadata = {
      {"title", "Transformer Engine, small"},
      {"cases", R"([{"name":"c0","shape":[2,16],"dtype":"f32","dist":"by hand","seed":1}])"}};
  std::vector<float> x(32, 0.0f);
  x[0] = 2688, x[16] = 6;
  std::string data(16, '\0');
  data[0] = 7, data[8] = 7;
  file.tensors = {{"c0/x", floats({2, 16}, x)},
                  {"c0/data", {"U8", {2, 8}, data}},
                  {"c0/scale", {"U8", {2, 1}, "\x7E\x38"}},
                  {"c0/amax", floats({1}, {2688})}};
  return file;
}

inline Result<VectorReport> check_small(const TestFile& file,
                                        const VectorKernels& kernels = reference_vector_kernels()) {
  TemporaryDirectory folder;
  write_text(folder / "v", encode(file));
  auto report = check_file(folder / "v", kernels);
  if (report) return report;
  Error error = report.error();
  if (const std::size_t at = error.what.find(": "); at != std::string::npos)
    error.what = error.what.substr(at + 2);
  return error;
}

// "" for a file that is replayed, else the error without its path and fix.
inline std::string fault_of(const TestFile& file) {
  const auto report = check_small(file);
  return report ? "" : std::string(code_word(report.error().code)) + ": " + report.error().what;
}

}  // namespace diecast::testing
