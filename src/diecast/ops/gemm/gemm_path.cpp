// Paths of gemm_nvfp4 with scratch; see gemm_path.h.
#include <diecast/base/text.h>
#include <diecast/ops/gemm/gemm_path.h>

namespace diecast {

GemmPathRequest GemmPathRequest::of(const QuantizedTensor& a, const QuantizedTensor& b,
                                    const Tensor& out, const GemmNvfp4Options& options) {
  return {.out = out.dtype,
          .a_rows = a.type.row_scaled,
          .b_rows = b.type.row_scaled,
          .bias = options.bias.has_value(),
          .bias_type = options.bias ? options.bias->dtype : DType::f32,
          .accumulate = options.accumulate};
}

Error path_not_taken(std::string_view path, ErrorCode code, std::string_view what,
                     std::string_view fix) {
  return {code, cat("gemm_nvfp4: path ", path, ": ", what), cat(fix, ", or path = \"own\"")};
}

Result<void> GemmScratch::check(std::string_view path, const GemmNvfp4Options& options) const {
  const std::int64_t given = options.scratch == nullptr ? 0 : options.scratch_bytes;
  if (given < needed) {
    return path_not_taken(path, ErrorCode::missing_buffer,
                          cat("scratch has ", given, " bytes, ", needed, " are needed"),
                          cat("pass ", advised, " bytes of device memory", more));
  }
  if (reinterpret_cast<std::uintptr_t>(options.scratch) % static_cast<std::uintptr_t>(alignment) ==
      0)
    return {};
  return path_not_taken(path, ErrorCode::misaligned,
                        cat("scratch does not start at a multiple of ", alignment, " bytes"),
                        "start it at one");
}

}  // namespace diecast
