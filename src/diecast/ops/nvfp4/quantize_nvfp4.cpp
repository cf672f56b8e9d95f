// quantize_nvfp4. Along rows: under a given global scale one launch, else an amax and a launch, or
// of few elements one launch for both; rows that find their own amax are one launch of another
// kernel. Of both directions and of square blocks: the amaxes that are not given, then one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_few.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>

namespace diecast {
namespace {

constexpr std::string_view kOp = PreparedQuantizeNvfp4::kName;

// The kernels along rows take these arguments at these places; the last two differ.
using At = args::QuantizeNvfp4::At;
using RowsAt = args::QuantizeNvfp4RowScaled::At;
static_assert(At::x == RowsAt::x && At::amax == RowsAt::amax && At::codes == RowsAt::codes);
static_assert(At::scales == RowsAt::scales && At::rows == RowsAt::rows && At::cols == RowsAt::cols);
static_assert(At::block_amax == RowsAt::rng);

// That a kernel's arguments are those that run() brings.
Result<void> takes(const Kernel& kernel, DType in, bool finds_rows) {
  const auto none = KernelArgument::tensor(in, nullptr);
  if (finds_rows)
    return kernel.takes(args::QuantizeNvfp4RowScaled{.x = none, .rows = 0, .cols = 0}.in_order());
  return kernel.takes(args::QuantizeNvfp4{.x = none, .rows = 0, .cols = 0}.in_order());
}

}  // namespace

Result<void> check_quantize_nvfp4(const Tensor& x, const QuantizedTensor& out) {
  DIECAST_CHECK(x.check("quantize_nvfp4: x"));
  DIECAST_CHECK(out.check(kOp, "out"));
  if (x.rows() == out.rows() && x.cols() == out.cols()) return {};
  return shapes_differ(kOp, "x", x.shape, out.shape);
}

Result<PreparedQuantizeNvfp4> PreparedQuantizeNvfp4::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  PreparedQuantizeNvfp4 prepared;
  prepared.request_ = request;
  if (request.along_rows())
    DIECAST_CHECK(prepared.prepare_rows(runtime, device));
  else
    DIECAST_CHECK(prepared.prepare_sides(runtime, device));
  return prepared;
}

Result<void> PreparedQuantizeNvfp4::prepare_rows(Runtime& runtime,
                                                 const std::shared_ptr<Device>& device) {
  if (!request_.scales_apart) plain_ = {request_.in, request_.out};
  finds_rows_ = request_.finds_rows();
  DIECAST_TRY(auto wanted, quantize_nvfp4_kernels(runtime, request_, device->properties()));
  DIECAST_CHECK(choose_by_records(runtime, *device, wanted));
  std::vector<KernelWanted> all = {wanted.any};
  for (const auto& few : wanted.few) all.push_back(few.kernel);
  if (wanted.counted) all.push_back(wanted.counted->kernel);
  DIECAST_TRY(const auto kernels, preload_all_for(runtime, device, all));
  DIECAST_CHECK(takes(*kernels.front(), request_.in, finds_rows_));
  quantize_ = kernels.front();
  for (std::size_t i = 0; i < wanted.few.size(); ++i)
    few_.push_back({wanted.few[i].below, kernels[i + 1]});
  if (wanted.counted) counted_ = {wanted.counted->below, kernels.back()};
  finds_amax_ = wanted.finds_amax;
  if (finds_rows_ || !request_.finds_amax()) return {};
  DIECAST_TRY(amax_, PreparedAmax::prepare(runtime, device, request_.amax(false)));
  return {};
}

Result<void> PreparedQuantizeNvfp4::prepare_sides(Runtime& runtime,
                                                  const std::shared_ptr<Device>& device) {
  DIECAST_TRY(quantize_, preload_for(runtime, device,
                                     nvfp4_tiles_kernel(request_, false, device->properties())));
  if (!request_.finds_amax()) return {};
  if (has_rows(request_.sides)) {
    DIECAST_TRY(amax_, PreparedAmax::prepare(runtime, device, request_.amax(false)));
  }
  if (has_columns(request_.sides) && !request_.shares_amax()) {
    DIECAST_TRY(columnwise_amax_, PreparedAmax::prepare(runtime, device, request_.amax(true)));
  }
  return {};
}

Result<void> PreparedQuantizeNvfp4::check(const Tensor& x, const QuantizedTensor& out,
                                          const BlockAmaxes& block_amax) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kOp));
  DIECAST_CHECK(check_quantize_nvfp4(x, out));
  if (is_nothing(x, out)) return {};
  const bool apart = request_.along_rows() && out.rowwise.scale_stride != 0;
  DIECAST_CHECK(check_nvfp4_output(request_, out, apart, kOp));
  if (x.dtype != request_.in) return other_input(kOp, x.dtype, request_.in);
  if (request_.cols != 0 && x.cols() != request_.cols)
    return Error{ErrorCode::shape_mismatch,
                 cat(kOp, ": x has rows of ", x.cols(), ", prepared for rows of ", request_.cols),
                 cat("give rows of ", request_.cols, ", or prepare with Request.cols = 0",
                     x.cols() % 16 == 0 ? "" : " and rows = RowsClass::any")};
  if (x.rows() == 0 || x.cols() == 0) return {};
  return check_block_amaxes(request_, block_amax, kOp);
}

[[gnu::hot]] Result<void> PreparedQuantizeNvfp4::run(const Tensor& x, const QuantizedTensor& out,
                                                     Stream stream, const BlockAmaxes& block_amax,
                                                     const std::int64_t* rng_state) const {
  std::int64_t rows = x.shape.dims[0], cols = x.shape.dims[1];
  const bool as_asked = quantize_ != nullptr && block_amax.columnwise == nullptr &&
                        (block_amax.rowwise != nullptr) == request_.block_amax &&
                        (request_.cols == 0 || cols == request_.cols);
  if (!plain_.holds(x, out) || !as_asked) [[unlikely]] {  // else x is of two dimensions
    DIECAST_CHECK(check(x, out, block_amax));
    rows = x.rows(), cols = x.cols();
    if (is_nothing(x, out)) return {};  // of no expert's tokens
  }
  if (request_.stochastic != (rng_state != nullptr)) [[unlikely]]
    return check_rng(request_, rng_state, kOp);
  if (!request_.along_rows()) [[unlikely]]
    return run_sides(x, out, stream, block_amax, rng_state);
  const QuantizedSide& to = out.rowwise;
  const bool counted = x.device_rows != nullptr;
  if (amax_ && (counted || rows * cols >= finds_amax_))
    DIECAST_CHECK(amax_->run(x, to.amax, false, stream, kOp));
  const Kernel& its = kernel(rows * cols, counted);
  LaunchWords words;
  words.set(At::x, x.data, rows <= 1 || x.row_stride == cols ? 0 : x.row_stride);
  words.set(At::amax, to.amax);
  words.set(At::codes, to.data);
  words.set(At::scales, to.scale, to.scale_stride);
  words.set(At::rows, x.device_rows, rows);
  words.set(At::cols, nullptr, cols);
  words.set(At::block_amax, finds_rows_ ? static_cast<const void*>(rng_state) : block_amax.rowwise);
  words.set(At::rng, rng_state);  // not taken by a kernel that finds rows' amaxes
  Result<void> launched = its.launch(words, stream);
  if (!launched) [[unlikely]]
    tell_of_op(launched, kOp, its, {"x", &x, request_.rows, request_.cols});
  return launched;
}

Result<void> PreparedQuantizeNvfp4::run_sides(const Tensor& x, const QuantizedTensor& out,
                                              Stream stream, const BlockAmaxes& block_amax,
                                              const std::int64_t* rng_state) const {
  const QuantizedSide &across = out.rowwise, &down = out.columnwise;
  if (amax_) DIECAST_CHECK(amax_->run(x, across.amax, false, stream, kOp));
  if (columnwise_amax_) {
    DIECAST_CHECK(columnwise_amax_->run(x, down.amax, false, stream, kOp));
  } else if (request_.finds_amax() && has_columns(request_.sides) && down.amax != nullptr) {
    DIECAST_CHECK(
        quantize_->device().copy_on_device(down.amax, across.amax, sizeof(float), stream));
  }
  const args::QuantizeNvfp4Tiles arguments{
      .x = tensor_argument(x),
      .amax = across.amax,
      .codes = across.data,
      .scales = {across.scale, across.scale_stride},
      .amax_t = down.amax,
      .codes_t = down.data,
      .scales_t = down.scale,  // as far apart as pitch_t says, or as rows that the device may count
      .rows = rows_argument(x),
      .cols = x.cols(),
      .count = 0,
      .pitch_t = down.scale_stride,
      .block_amax = block_amax.rowwise,
      .block_amax_t = block_amax.columnwise,
      .rng = rng_state};
  return launch_op(kOp, *quantize_, arguments, stream, {"x", &x, request_.rows, request_.cols});
}

// Here, because a convenience call makes one each time.
QuantizeNvfp4Request QuantizeNvfp4Request::of(const Tensor& x, const QuantizedTensor& out,
                                              const QuantizeNvfp4Options& options) {
  QuantizeNvfp4Request request;
  request.in = x.dtype;
  request.rows = rows_class(x);
  request.amax_given = options.amax_given;
  request.global = options.global;
  request.four_over_six = options.four_over_six;
  request.rht = options.rht;
  if (options.rht != TransformedSides::none) request.sign_mask = options.sign_mask;
  request.block_amax = options.block_amax.given();
  request.stochastic = options.rng_state != nullptr;
  request.sides = out.sides();
  request.out = out.type;
  if (request.along_rows()) {
    request.scales_apart = out.rowwise.scale_stride != 0;
    // A row whose length is known stays in registers between its amax and its codes.
    if (request.finds_rows() && x.cols() <= kLongestOwnRow) request.cols = x.cols();
  } else if (request.rows == RowsClass::dense) {
    request.rows = RowsClass::apart;
  }
  return request;
}

namespace {

Result<void> quantize_on(Runtime& runtime, const std::shared_ptr<Device>& device, const Tensor& x,
                         const QuantizedTensor& out, const QuantizeNvfp4Options& options,
                         Stream stream) {
  if (is_nothing(x, out)) [[unlikely]]
    return check_quantize_nvfp4(x, out);
  auto request = QuantizeNvfp4Request::of(x, out, options);
  if (request.cols != 0 && device->properties().cc == 0)
    request.cols = 0;  // the host has no registers to keep rows in
  DIECAST_TRY(const auto* prepared,
              prepared_once<PreparedQuantizeNvfp4>(runtime, device, request, stream));
  return prepared->run(x, out, stream, options.block_amax, options.rng_state);
}

}  // namespace

// A device that is given is not even counted as used once more.
Result<void> quantize_nvfp4(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                            const QuantizeNvfp4Options& options, Stream stream) {
  if (options.device) return quantize_on(runtime, options.device, x, out, options, stream);
  DIECAST_TRY(const auto device, runtime.default_device());
  return quantize_on(runtime, device, x, out, options, stream);
}

}  // namespace diecast
