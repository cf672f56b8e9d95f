// quantize_nvfp4: under a given global scale one launch, else an amax and a launch, or of few
// elements one launch for both; rows that find their own amax are one launch of another kernel.
#include <diecast/base/text.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4_few.h>

namespace diecast {

std::string_view global_scale_name(GlobalScale global) {
  constexpr std::string_view names[] = {"amax", "encode", "decode", "none"};
  return name_of(global, names);
}

std::string_view four_over_six_name(FourOverSix rule) {
  constexpr std::string_view names[] = {"off", "mae", "mse"};
  return name_of(rule, names);
}

namespace {

using Request = PreparedQuantizeNvfp4::Request;

constexpr std::string_view kOp = PreparedQuantizeNvfp4::kName;

// What this op makes of the many things a QuantizedTensor can be.
bool takes_output(const Tensor& x, const QuantizedTensor& out) {
  return out.format == Format::nvfp4 && out.block_rows == 1 && !out.columnwise.present() &&
         x.rows() == out.rows() && x.cols() == out.cols();
}
Error wrong_output(const Tensor& x, const QuantizedTensor& out) {
  if (out.format != Format::nvfp4) {
    return {ErrorCode::not_supported, cat(kOp, ": out is ", format_name(out.format), ", not nvfp4"),
            "describe out with format = Format::nvfp4"};
  }
  if (out.block_rows != 1 || out.columnwise.present()) {
    return {ErrorCode::not_supported,
            cat(kOp, ": out wants ", out.block_rows, "x", out.block_cols, " blocks",
                out.columnwise.present() ? ", columnwise output" : ""),
            "this op writes rowwise 1x16 blocks; quantize_nvfp4_tiles writes the others"};
  }
  return shapes_differ(kOp, "x", x.shape, out.shape);
}

// Whether the kernel is given its global scales, rather than finding them or an amax before it.
bool given(const Request& request) {
  return request.amax_given || request.global != GlobalScale::amax || request.block_amax;
}

std::string described(const Request& r) {
  return cat("row_scaled = ", r.row_scaled, ", profile ", profile_name(r.profile), ", ",
             layout_name(r.layout), r.scales_apart ? " strided" : "", " scales, E4M3 bound ",
             r.e4m3_bound);
}

// What `out` says of a request.
void describe(const QuantizedTensor& out, Request& request) {
  request.row_scaled = out.row_scaled;
  request.profile = out.profile;
  request.layout = out.layout;
  request.scales_apart = out.rowwise.scale_stride != 0;
  request.e4m3_bound = out.e4m3_bound;
}

bool as_prepared(const QuantizedTensor& out, const Request& request) {
  return out.row_scaled == request.row_scaled && out.profile == request.profile &&
         out.layout == request.layout && out.e4m3_bound == request.e4m3_bound &&
         (out.rowwise.scale_stride != 0) == request.scales_apart;
}
Error other_output(const QuantizedTensor& out, const Request& prepared) {
  Request wanted;
  describe(out, wanted);
  return {
      ErrorCode::not_supported,
      cat("quantize_nvfp4: prepared for ", described(prepared), "; out has ", described(wanted)),
      "prepare another op for this output"};
}

// That the kernel's arguments are those that run() brings.
Result<void> takes(const Kernel& kernel, DType in, bool finds_rows) {
  const auto tensor = [](DType dtype) { return KernelArgument::tensor(dtype, nullptr); };
  const auto size = KernelArgument::size(0);
  std::vector<KernelArgument> kinds{
      tensor(in), tensor(DType::f32), tensor(DType::u8), tensor(DType::e4m3), size, size};
  if (!finds_rows) kinds.push_back(tensor(DType::f32));
  kinds.push_back(tensor(DType::i64));
  return kernel.takes(kinds);
}

}  // namespace

std::uint64_t PreparedQuantizeNvfp4::Request::word() const {
  return request_word(OpKind::quantize_nvfp4)
      .add<4>(in)
      .add<1>(row_scaled)
      .add<1>(amax_given)
      .add<2>(rows)
      .add<4>(profile)
      .add<2>(global)
      .add<2>(layout)
      .add<1>(scales_apart)
      .add<2>(four_over_six)
      .add<1>(e4m3_bound == 256)
      .add<1>(rht)
      .add<16>(sign_mask)
      .add<1>(block_amax)
      .add<1>(stochastic)
      .add<17>(cols > kLongestKept ? 0 : cols)
      .word();
}

Result<PreparedQuantizeNvfp4> PreparedQuantizeNvfp4::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const Request& request) {
  DIECAST_CHECK(check_device(device));
  PreparedQuantizeNvfp4 prepared;
  prepared.request_ = request;
  prepared.plain_ = {request.in, request.profile, request.layout, request.e4m3_bound,
                     request.row_scaled};
  if (request.scales_apart) prepared.plain_ = {};
  prepared.finds_rows_ = request.row_scaled && !given(request);
  const bool finds_amax = !request.row_scaled && !given(request);
  DIECAST_TRY(auto wanted, quantize_nvfp4_kernels(runtime, request, prepared.finds_rows_,
                                                  finds_amax, device->properties()));
  DIECAST_CHECK(choose_by_records(runtime, *device, wanted));
  std::vector<KernelWanted> all = {wanted.any};
  for (const auto& few : wanted.few) all.push_back(few.kernel);
  if (wanted.counted) all.push_back(wanted.counted->kernel);
  DIECAST_TRY(const auto kernels, preload_all_for(runtime, device, all));
  DIECAST_CHECK(takes(*kernels.front(), request.in, prepared.finds_rows_));
  prepared.quantize_ = kernels.front();
  for (std::size_t i = 0; i < wanted.few.size(); ++i)
    prepared.few_.push_back({wanted.few[i].below, kernels[i + 1]});
  if (wanted.counted) prepared.counted_ = {wanted.counted->below, kernels.back()};
  prepared.finds_amax_ = wanted.finds_amax;
  if (finds_amax) {
    const PreparedAmax::Request amax{
        request.in,
        AmaxPer::tensor,
        request.rows,
        request.cols,
        ignores_nan(request.profile) ? AmaxNans::ignore : AmaxNans::propagate,
        request.rht ? AmaxTransform::row : AmaxTransform::none,
        request.sign_mask};
    DIECAST_TRY(prepared.amax_, PreparedAmax::prepare(runtime, device, amax));
  }
  return prepared;
}

Result<void> PreparedQuantizeNvfp4::check(const Tensor& x, const QuantizedTensor& out,
                                          const float* block_amax) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kOp));
  DIECAST_CHECK(x.check("quantize_nvfp4: x"));
  DIECAST_CHECK(out.check(kOp, "out"));
  if (!takes_output(x, out)) return wrong_output(x, out);
  if (!as_prepared(out, request_)) return other_output(out, request_);
  if (x.dtype != request_.in) return other_input(kOp, x.dtype, request_.in);
  if (request_.cols != 0 && x.cols() != request_.cols)
    return Error{ErrorCode::shape_mismatch,
                 cat(kOp, ": x has rows of ", x.cols(), ", prepared for rows of ", request_.cols),
                 cat("give rows of ", request_.cols, ", or prepare with Request.cols = 0",
                     x.cols() % 16 == 0 ? "" : " and rows = RowsClass::any")};
  if ((block_amax != nullptr) == request_.block_amax || x.rows() * x.cols() == 0) return {};
  return Error{request_.block_amax ? ErrorCode::missing_buffer : ErrorCode::not_supported,
               cat("quantize_nvfp4: block_amax is ", request_.block_amax ? "null" : "given",
                   ", prepared for one: ", request_.block_amax),
               "give block_amax where the request says so"};
}

Result<KernelArgument> rng_argument(std::string_view op, bool wanted, const std::int64_t* state) {
  if (wanted == (state != nullptr)) return KernelArgument::tensor(DType::i64, state);
  return Error{wanted ? ErrorCode::missing_buffer : ErrorCode::not_supported,
               cat(op, ": rng_state is ", wanted ? "null" : "given",
                   ", prepared for stochastic rounding: ", wanted),
               "give {seed, offset} in device memory where the request says stochastic"};
}

[[gnu::hot]] Result<void> PreparedQuantizeNvfp4::run(const Tensor& x, const QuantizedTensor& out,
                                                     Stream stream, const float* block_amax,
                                                     const std::int64_t* rng_state) const {
  std::int64_t rows = x.shape.dims[0], cols = x.shape.dims[1];
  const bool as_asked = quantize_ != nullptr && (block_amax != nullptr) == request_.block_amax &&
                        (request_.cols == 0 || cols == request_.cols);
  if (!plain_.holds(x, out) || !as_asked) [[unlikely]] {  // else x is of two dimensions
    DIECAST_CHECK(check(x, out, block_amax));
    rows = x.rows(), cols = x.cols();
    if (rows * cols == 0 && out.rowwise.amax == nullptr) return {};  // of no expert's tokens
  }
  if (request_.stochastic != (rng_state != nullptr)) [[unlikely]]
    return rng_argument(kOp, request_.stochastic, rng_state).error();
  const QuantizedSide& to = out.rowwise;
  const bool counted = x.device_rows != nullptr;
  if (amax_ && (counted || rows * cols >= finds_amax_))
    DIECAST_CHECK(amax_->run(x, to.amax, false, stream, kOp));
  const Kernel& its = kernel(rows * cols, counted);
  LaunchWords words;
  words.set(0, x.data, rows <= 1 || x.row_stride == cols ? 0 : x.row_stride);
  words.set(1, to.amax);
  words.set(2, to.data);
  words.set(3, to.scale, to.scale_stride);
  words.set(4, x.device_rows, rows);
  words.set(5, nullptr, cols);
  words.set(6, finds_rows_ ? static_cast<const void*>(rng_state) : block_amax);
  words.set(7, rng_state);  // not taken by a kernel that finds rows' amaxes
  Result<void> launched = its.launch(words, stream);
  if (!launched) [[unlikely]]
    tell_of_op(launched, kOp, its, {"x", &x, request_.rows, request_.cols});
  return launched;
}

Request Request::of(const Tensor& x, const QuantizedTensor& out,
                    const QuantizeNvfp4Options& options) {
  Request request;
  describe(out, request);
  request.in = x.dtype;
  request.rows = rows_class(x);
  request.amax_given = options.amax_given;
  request.global = options.global;
  request.four_over_six = options.four_over_six;
  request.rht = options.rht;
  request.sign_mask = options.rht ? options.sign_mask : std::uint16_t{0};
  request.block_amax = options.block_amax != nullptr;
  request.stochastic = options.rng_state != nullptr;
  // A row whose length is known stays in registers between its amax and its codes.
  const bool keeps_rows = request.row_scaled && !given(request);
  if (keeps_rows && x.cols() <= Request::kLongestKept) request.cols = x.cols();
  return request;
}

namespace {

Result<void> quantize_on(Runtime& runtime, const std::shared_ptr<Device>& device, const Tensor& x,
                         const QuantizedTensor& out, const QuantizeNvfp4Options& options,
                         Stream stream) {
  Request request = Request::of(x, out, options);
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
