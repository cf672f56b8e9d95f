// Block scales from one layout to another, to the transpose of a matrix in 16x16 blocks, and from
// one global scale to another. Views of device memory, one byte a scale.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>
#include <memory>

namespace diecast {

// `batch` scale matrices of `rows` x `cols` bytes one behind another, each padded to whole tiles of
// the layout. The padding holds zeros. With a stride each matrix is `rows` rows that far apart.
struct ScaleArray {
  void* data = nullptr;
  ScaleLayout layout = ScaleLayout::linear;
  std::int64_t rows = 0, cols = 0, batch = 1;
  std::int64_t stride = 0;  // linear: bytes from one row's scales to the next; 0 = dense
};

struct ArrangeScalesOptions {
  // From the scales of a matrix in 16x16 blocks to those of its transpose: `to` has a row for each
  // of the matrix's columns, and a column for every 16 of its rows.
  bool tiles = false;
  // Both or neither, f32 [batch] in device memory: E4M3 scales under the global decode scale
  // old_decode (a checkpoint's scale_2) become scales under new_decode, as far as E4M3 can say
  // them: E4M3(scale * (old / new)). Codes stay as they are. For halves of one product that must
  // share a global scale; new is then the larger one, for nothing saturates.
  const float* old_decode = nullptr;
  const float* new_decode = nullptr;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// Every byte of `to` is written, but what lies between rows. The arrays do not overlap. Errors:
// missing_buffer, shape_mismatch, not_supported (a stride of tiles), invalid_argument (a negative
// size, one decode scale without the other), those of preparing.
Result<void> arrange_scales(Runtime& runtime, const ScaleArray& from, const ScaleArray& to,
                            const ArrangeScalesOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_arrange_scales(const ScaleArray& from, const ScaleArray& to, bool tiles);

struct ArrangeScalesRequest {
  static constexpr std::string_view kName = "arrange_scales";
  ScaleLayout from = ScaleLayout::linear, to = ScaleLayout::s128x4;
  bool tiles = false;
  bool rescale = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("FROM", self.from), as("TO", self.to), as("TILES", self.tiles), as("RESCALE", self.rescale);
  }
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
};

class PreparedArrangeScales : public OneKernel<PreparedArrangeScales, ArrangeScalesRequest> {
 public:
  // Errors: as arrange_scales(); not_supported for arrays in other layouts than the request's.
  Result<void> run(const ScaleArray& from, const ScaleArray& to, Stream stream,
                   const float* old_decode = nullptr, const float* new_decode = nullptr) const;
};

}  // namespace diecast
