// Reference vectors: inputs and outputs of other implementations in a safetensors file whose
// metadata has `title` (which names the profile) and `cases` (a JSON list, one object a case). They
// are replayed through the same kernels as checkpoints and compared to the bit.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/safetensors.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast {

// Whose bits a file holds, by its title.
enum class VectorProfile : std::uint8_t { te, torchao, mx, pr546, modelopt_fake, modelopt_packed };
std::string_view vector_profile_name(VectorProfile profile);

struct VectorCase {
  std::string name;  // its tensors are called name/x, name/data, ...
  std::vector<std::uint64_t> shape;
  DType dtype = DType::f32;
  bool row_scaled = false;
  bool columnwise = false;
  bool tile_16x16 = false;  // block scales of 16x16 tiles, not of 16 neighbours
  bool four_over_six = false;
};

struct VectorFile {
  std::string title;
  VectorProfile profile = VectorProfile::te;
  std::vector<VectorCase> cases;
};

// Errors: file_corrupt (no title or cases, a field of the wrong type), not_supported (a title or an
// option that is not known here: nothing is skipped that nobody has read).
Result<VectorFile> parse_vectors(const SafetensorsHeader& header, std::string_view path);

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
  std::vector<VectorDifference> differences;  // the first ones
};

struct VectorReport {
  std::string title;
  std::vector<CaseResult> cases;
  std::size_t count(CaseResult::State state) const;
};

// Errors: those of parse_vectors, file_corrupt (a tensor of a case is missing or of another type or
// shape), io_error, and what the kernels return. A difference is no error but a failed case.
Result<VectorReport> check_vectors(const SafetensorsReader& file, const ConvertKernels& kernels);

}  // namespace diecast
