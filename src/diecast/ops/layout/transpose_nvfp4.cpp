// transpose_codes is one launch; transpose_nvfp4 two, and a copy of the amax.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/layout/transpose_nvfp4.h>

namespace diecast {
namespace {

std::uintptr_t past_word(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 4;
}

// Whether rows of so many codes, padded, are whole words of 8.
bool is_whole_words(std::int64_t codes, int pad) {
  if (pad % 8 == 0) return true;
  return pad > 0 && capped_product(ceil_div(codes, pad), pad) % 8 == 0;
}

}  // namespace

Result<void> check_transpose_codes(const void* codes, std::int64_t rows, std::int64_t cols, int pad,
                                   const void* transposed) {
  DIECAST_TRY(const std::int64_t bytes, quantized_data_bytes(Format::nvfp4, rows, cols, pad));
  DIECAST_CHECK(quantized_data_bytes(Format::nvfp4, cols, rows, pad));
  if (bytes == 0 || (codes != nullptr && transposed != nullptr)) return {};
  return Error{ErrorCode::missing_buffer,
               cat("transpose_codes: ", codes == nullptr ? "codes" : "transposed", " is null"),
               "pass the addresses of both matrices"};
}

Result<void> check_transpose_nvfp4(const QuantizedTensor& x) {
  constexpr std::string_view kOp = PreparedTransposeNvfp4::kName;
  DIECAST_CHECK(x.refuse_row_scaled(kOp, "x"));
  DIECAST_CHECK(x.check(kOp, "x"));
  const bool empty = x.rows() * x.cols() == 0;
  const bool both = empty || (x.rowwise.present() && x.columnwise.present());
  if (x.type.format != Format::nvfp4 || x.type.block_rows() != x.type.block() || !both) {
    return Error{
        ErrorCode::not_supported,
        cat(kOp, ": x is ", word(x.type.format), " in ", x.type.block_rows(), "x", x.type.block(),
            " blocks, rowwise ", x.rowwise.present() ? "present" : "absent", ", columnwise ",
            x.columnwise.present() ? "present" : "absent"),
        "give nvfp4 in 16x16 blocks with buffers for both directions"};
  }
  return {};
}

KernelWanted TransposeCodesRequest::kernel(const DeviceProperties& device) const {
  Bindings bindings;
  // The host has no threads to spread a tile over: fewer fibers, fewer switches.
  if (device.cc == 0) bindings.set("THREADS", 32);
  return kernel_of(kName, *this, std::move(bindings));
}

Result<void> PreparedTransposeCodes::run(const void* codes, std::int64_t rows, std::int64_t cols,
                                         void* transposed, Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_transpose_codes(codes, rows, cols, request_.pad, transposed));
  // Of a single row the launch does not see where the next one would begin.
  if (request_.aligned && rows > 0 && cols > 0 &&
      !(is_whole_words(rows, request_.pad) && is_whole_words(cols, request_.pad))) {
    return Error{
        ErrorCode::misaligned,
        cat("transpose_codes: rows of a ", rows, "x", cols, " matrix or its transpose, padded to ",
            request_.pad, " codes, are not whole words of 8"),
        "prepare another op with aligned = false"};
  }
  return launch(
      args::TransposeCodes{.codes = codes, .transposed = transposed, .rows = rows, .cols = cols},
      stream);
}

TransposeCodesRequest TransposeCodesRequest::of(const void* codes, std::int64_t rows,
                                                std::int64_t cols, int pad,
                                                const void* transposed) {
  return {.pad = pad,
          .aligned = past_word(codes) == 0 && past_word(transposed) == 0 &&
                     is_whole_words(rows, pad) && is_whole_words(cols, pad)};
}

Result<void> transpose_codes(Runtime& runtime, const void* codes, std::int64_t rows,
                             std::int64_t cols, int pad, void* transposed,
                             const TransposeOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = TransposeCodesRequest::of(codes, rows, cols, pad, transposed);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedTransposeCodes>(runtime, device, request, stream));
  return prepared->run(codes, rows, cols, transposed, stream);
}

std::vector<KernelWanted> TransposeNvfp4Request::kernels(const DeviceProperties& device) const {
  return {codes().kernel(device), scales().kernel(device)};
}

Result<PreparedTransposeNvfp4> PreparedTransposeNvfp4::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  DIECAST_CHECK(check_values(request));
  PreparedTransposeNvfp4 prepared;
  prepared.request_ = request;
  prepared.device_ = device;
  DIECAST_TRY(prepared.codes_, PreparedTransposeCodes::prepare(runtime, device, request.codes()));
  DIECAST_TRY(prepared.scales_, PreparedArrangeScales::prepare(runtime, device, request.scales()));
  return prepared;
}

Result<void> PreparedTransposeNvfp4::run(const QuantizedTensor& x, Stream stream) const {
  DIECAST_CHECK(check_prepared(device_.get(), kName));
  DIECAST_CHECK(check_transpose_nvfp4(x));
  const Request asked{x.type.layout};
  if (asked != request_) return not_as_prepared(kName, "x", request_, asked);
  const std::int64_t rows = x.rows(), cols = x.cols();
  const QuantizedSide &from = x.rowwise, &to = x.columnwise;
  if (rows * cols == 0 && (from.amax == nullptr || to.amax == nullptr)) return {};
  DIECAST_CHECK(codes_.run(from.data, rows, cols, to.data, stream));
  const ScaleArray scales{from.scale, x.type.layout,    rows, ceil_div(cols, 16),
                          1,          from.scale_stride};
  const ScaleArray of_columns{to.scale, x.type.layout,  cols, ceil_div(rows, 16),
                              1,        to.scale_stride};
  DIECAST_CHECK(scales_.run(scales, of_columns, stream));
  return device_->copy_on_device(to.amax, from.amax, sizeof(float), stream);
}

Result<void> transpose_nvfp4(Runtime& runtime, const QuantizedTensor& x,
                             const TransposeOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedTransposeNvfp4>(runtime, device,
                                                    TransposeNvfp4Request{x.type.layout}, stream));
  return prepared->run(x, stream);
}

}  // namespace diecast
