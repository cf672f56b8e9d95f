// Quantizing a matrix to NVFP4: E2M1 codes, one E4M3 scale for every 16 neighbours of a row, and a
// global scale made of one amax in all or, row-scaled, one a row.
#pragma once

#include <cstdint>
#include <memory>

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

namespace diecast {

struct QuantizeNvfp4Options {
  bool amax_given = false;         // out.rowwise.amax holds the tensor's amax; not when row-scaled
  std::shared_ptr<Device> device;  // null: Runtime::default_device()
};

// x: bf16, f16 or f32, [rows, cols] with any cols, rows may be apart; a row's last block is padded
// with zeros. out: NVFP4, rowwise, 1x16 blocks, linear scales, of x's shape; its amax is written
// unless amax_given. Profile and row scaling are out's. Bits: templates/PROFILES.md.
// Errors: dtype_mismatch, missing_buffer, shape_mismatch, not_supported, and those of preparing.
Result<void> quantize_nvfp4(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                            const QuantizeNvfp4Options& options = {}, Stream stream = {});

class PreparedQuantizeNvfp4 {
 public:
  static constexpr std::string_view kName = "quantize_nvfp4";
  struct Request {
    DType in = DType::bf16;
    bool row_scaled = false;
    bool amax_given = false;
    RowsClass rows = RowsClass::dense;  // at most rows_class() of every x to come
    Profile profile = Profile::te;
    std::int64_t cols = 0;  // not 0: the kernels are made for this row length
    std::uint64_t word() const;
  };
  static Result<PreparedQuantizeNvfp4> prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // Errors: as quantize_nvfp4(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream) const;

 private:
  Request request_;
  std::optional<PreparedAmax> amax_;  // when the amax is computed first
  std::shared_ptr<Kernel> quantize_;
};

}  // namespace diecast
