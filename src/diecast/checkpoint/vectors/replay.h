// Replaying one case of reference vectors: its tensors out of the file, and what the kernels made
// of them held against the file's. One function a profile; vectors.cpp has the table of them.
#pragma once

#include <diecast/checkpoint/vectors.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace diecast {

// file_corrupt, saying what is wrong with the vectors at `path`.
Error corrupt_vectors(std::string_view path, std::string what);

class CaseReplay {
 public:
  CaseReplay(const SafetensorsReader& file, const VectorKernels& kernels, const VectorCase& one);

  const VectorCase& options() const { return one_; }
  const VectorKernels& kernels() const { return kernels_; }
  std::int64_t elements() const;  // of x; after a load of x
  std::int64_t rows() const;      // all dimensions but the last
  std::int64_t cols() const;

  // Tensors of the case. Errors: file_corrupt (missing, of another type or size, too large to be
  // held), io_error.
  Result<Bytes> x() const;
  Result<std::vector<float>> floats(std::string_view what, std::int64_t count) const;

  // Counts what differs from tensor `what`: bytes, or floats by their bits.
  Result<void> expect(std::string_view what, std::span<const std::uint8_t> got);
  Result<void> expect(std::string_view what, std::span<const float> got);
  Result<void> expect(std::string_view what, ByteSpan got);  // values in x's type

  // The same of values in x's type that are fake-quantized in blocks of 16 with these scales: what
  // is one E2M1 step of its block apart counts as near.
  Result<void> expect_steps(std::string_view what, ByteSpan got, std::span<const float> scales);

  void skip(std::string reason);
  CaseResult result() const;

 private:
  Result<Bytes> load(std::string_view what, StoredDType dtype, std::uint64_t bytes) const;
  void count(std::string_view what, std::uint64_t index, std::uint32_t expected, std::uint32_t got);

  const SafetensorsReader& file_;
  const VectorKernels& kernels_;
  const VectorCase& one_;
  CaseResult result_;
};

Result<void> replay_te(CaseReplay& replay);
// The same under the profile of the quantizer that made the case, whose -0 have code 0. Not of four
// over six.
Result<void> replay_te_ref(CaseReplay& replay);
Result<void> replay_pr546(CaseReplay& replay);
Result<void> replay_modelopt(CaseReplay& replay);  // packed
Result<void> replay_torchao(CaseReplay& replay);   // nvfp4
Result<void> replay_mx(CaseReplay& replay);
Result<void> replay_modelopt_fake(CaseReplay& replay);
// compute_fp4_scales and the static fake quantization of a case that is packed too.
Result<void> replay_modelopt_scales(CaseReplay& replay, ByteSpan x,
                                    const std::vector<float>& block_amax);

}  // namespace diecast
