// Reference vectors: inputs and outputs of other implementations in a safetensors file whose
// metadata has `title` (which names the profile) and `cases` (a JSON list, one object a case). They
// are replayed through our kernels and compared to the bit.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/safetensors.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace diecast {

struct VectorCase {
  std::string name;  // its tensors are called name/x, name/data, ...
  std::vector<std::uint64_t> shape;
  DType dtype = DType::f32;
  std::map<std::string, std::string> options;  // tests/golden/README.md; as in the file's JSON

  bool flag(const std::string& option) const { return word(option) == "true"; }
  std::string word(const std::string& option) const {  // "" where it is absent
    const auto found = options.find(option);
    return found == options.end() ? "" : found->second;
  }
};

struct VectorDifference {
  std::string tensor;                   // "data", "scale", "amax"
  std::uint64_t index = 0;              // element
  std::uint32_t expected = 0, got = 0;  // a byte, or the bits of an f32
};

struct CaseResult {
  enum class State : std::uint8_t { passed, failed, skipped };
  std::string name;
  State state = State::passed;
  std::string reason;                         // skipped: what is not built
  std::uint64_t differing = 0;                // elements
  std::uint64_t near = 0, of_near = 0;        // one E2M1 step apart, of elements that may be so
  std::vector<VectorDifference> differences;  // the first ones
};

struct VectorReport {
  std::string title;
  std::vector<CaseResult> cases;  // one twice where two profiles are replayed: "c0", "c0, te_ref"
  std::size_t count(CaseResult::State state) const;
};

// One quantization to NVFP4 as a case asks for it: x dense [rows, cols], linear scales; all in host
// memory.
struct Nvfp4VectorInput {
  ByteSpan x;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  QuantizedType type;
  bool columnwise = false;  // the transpose too
  FourOverSix four_over_six = FourOverSix::off;
  GlobalScale global = GlobalScale::amax;
  std::vector<float> given;       // what `global` says; empty: amaxes are found
  std::vector<float> block_amax;  // of each block, where they are given
};
struct Nvfp4VectorOutput {
  std::vector<std::uint8_t> codes, scales;
  std::vector<float> amax;                      // found or given
  std::vector<std::uint8_t> codes_t, scales_t;  // of the transpose, where it is asked for
  std::vector<float> amax_t;
};

// One quantization to an MX format, rowwise, profile torchao; x as above, linear scales.
struct MxVectorInput {
  ByteSpan x;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  Format format = Format::mxfp8_e4m3;
  MxMode mode = MxMode::rceil;
};
struct MxVectorOutput {
  std::vector<std::uint8_t> data, scales;
};

// One fake quantization in blocks of 16: static with the blocks' amaxes, else dynamic.
struct FakeVectorInput {
  ByteSpan x;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  std::vector<float> block_amax;      // of each block; empty: dynamic
  float global_amax = 0;              // dynamic: of x; static: unused, the largest of block_amax
  bool quantize_block_scales = true;  // static
};

// What replays cases, wherever it runs; one call at a time.
struct VectorKernels {
  std::function<Result<Nvfp4VectorOutput>(const Nvfp4VectorInput&)> quantize_nvfp4;
  std::function<Result<MxVectorOutput>(const MxVectorInput&)> quantize_mx;
  // The scales of blocks with these amaxes, in E4M3 under the largest of them.
  std::function<Result<std::vector<float>>(const std::vector<float>& amax)> fp4_scales;
  std::function<Result<Bytes>(const FakeVectorInput&)> fake_quantize;  // in x's type
};

// Errors: file_corrupt (no title or cases, a case listed twice, a field of the wrong type, an
// option that another one needs beside it, a tensor of no case, one of a case missing or of another
// type or shape), not_supported (a title or an option that is not known here: nothing is skipped
// that nobody has read), io_error, and what the kernels return. A difference is no error but a
// failed case; where tests/golden/README.md lets values be one E2M1 step apart, more than 1 in
// 1,000 of a file's fail. `progress`, if any, is told after each case how many of how many are
// done.
Result<VectorReport> check_vectors(
    const SafetensorsReader& file, const VectorKernels& kernels,
    const std::function<void(std::size_t done, std::size_t total)>& progress = {});

}  // namespace diecast
