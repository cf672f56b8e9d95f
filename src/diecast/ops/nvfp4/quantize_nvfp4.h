// Quantizing a matrix to NVFP4: E2M1 codes, one E4M3 scale for every 16 neighbours of a row or a
// column or for a tile of 16x16, and a global scale made of one amax in all or, row-scaled, one a
// row.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/nvfp4/plain_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

// x: bf16, f16, f32, or e4m3 (no transform), [rows, cols] with any cols, rows may be apart; a last
// block is padded with zeros. out: NVFP4 of x's shape. The directions whose buffers are present are
// written, both in one launch; amaxes are written where they are found, and the padding of tiled
// scales is written with zeros. Block, profile, scale layout (and stride), E4M3 bound and row
// scaling are out's. In 16x16 blocks the columnwise output is the rowwise one's transpose where
// amaxes are equal and nothing is transformed. With x.device_rows the columnwise buffers are as for
// that many rows. Bits, and what each profile defines: templates/PROFILES.md. Errors:
// dtype_mismatch, missing_buffer, misaligned, shape_mismatch, not_supported, constraint_violated
// (an option that the profile has not), and those of preparing.
Result<void> quantize_nvfp4(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                            const QuantizeNvfp4Options& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_quantize_nvfp4(const Tensor& x, const QuantizedTensor& out);

class PreparedQuantizeNvfp4 {
 public:
  using Request = QuantizeNvfp4Request;
  static constexpr std::string_view kName = Request::kName;
  static Result<PreparedQuantizeNvfp4> prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const Request& request);
  const Request& request() const { return request_; }

  // The kernel that writes the codes of so many elements; `device_rows`: the device counts the
  // rows. Only of an op that is prepared.
  const Kernel& kernel(std::int64_t elements, bool device_rows = false) const {
    if (device_rows) return elements < counted_.below ? *counted_.kernel : *quantize_;
    for (const Few& few : few_)
      if (elements < few.below) return *few.kernel;
    return *quantize_;
  }
  // block_amax: of the directions that are written; rng_state: as in the options; both where the
  // request says so. Errors: as quantize_nvfp4(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream,
                   const BlockAmaxes& block_amax = {},
                   const std::int64_t* rng_state = nullptr) const;

 private:
  Result<void> prepare_rows(Runtime& runtime, const std::shared_ptr<Device>& device);
  Result<void> prepare_sides(Runtime& runtime, const std::shared_ptr<Device>& device);
  Result<void> check(const Tensor& x, const QuantizedTensor& out,
                     const BlockAmaxes& block_amax) const;
  // run() of both directions or square blocks, where everything is checked.
  Result<void> run_sides(const Tensor& x, const QuantizedTensor& out, Stream stream,
                         const BlockAmaxes& block_amax, const std::int64_t* rng_state) const;

  Request request_;
  PlainNvfp4 plain_;                  // of 1x16 blocks of rows: what most launches bring
  bool finds_rows_ = false;           // rows find their own amax
  std::int64_t finds_amax_ = 0;       // from so many elements on: below, the kernel finds it
  std::optional<PreparedAmax> amax_;  // where the rows' is computed first
  std::optional<PreparedAmax> columnwise_amax_;
  std::shared_ptr<Kernel> quantize_;
  // For less than so many elements, from the fewest on, have more threads for each; counted_ where
  // the device counts the rows.
  struct Few {
    std::int64_t below = 0;
    std::shared_ptr<Kernel> kernel;
  };
  std::vector<Few> few_;
  Few counted_;
};

}  // namespace diecast
