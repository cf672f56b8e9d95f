// The absolute maximum of a matrix, in all or of each row. NaN is ignored, infinity is kept, an
// empty matrix gives 0 (profile te's rule). The result is f32 in device memory.
#pragma once

#include <cstdint>
#include <memory>

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

namespace diecast {

struct AmaxOptions {
  bool per_row = false;      // amax [rows] instead of [1]
  bool accumulate = false;   // keep what is in amax: one maximum over several tensors
  std::shared_ptr<Device> device;  // null: Runtime::default_device()
};

// x: bf16, f16 or f32, [rows, cols], rows may be apart. amax: f32 [1] or [rows] in device memory.
// Errors: dtype_mismatch, missing_buffer, shape_mismatch, and those of preparing.
Result<void> amax(Runtime& runtime, const Tensor& x, float* result, const AmaxOptions& options = {},
                  Stream stream = {});

class PreparedAmax {
 public:
  static constexpr std::string_view kName = "amax";
  struct Request {
    DType in = DType::bf16;
    bool per_row = false;
    RowsClass rows = RowsClass::dense;  // at most rows_class() of every x to come
    std::int64_t cols = 0;  // not 0: the kernel is made for this row length
    std::uint64_t word() const;
  };
  static Result<PreparedAmax> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                      const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // Errors: as amax(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, float* result, bool accumulate, Stream stream) const;

 private:
  Request request_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
