// quantize_nvfp4_tiles: the amaxes that are not given, then one launch.
#include <diecast/base/text.h>
#include <diecast/ops/quantize_nvfp4_tiles.h>

#include <array>

namespace diecast {
namespace {

std::string_view transformed_name(TransformedSides sides) {
  constexpr std::string_view names[] = {"none", "rowwise", "columnwise", "both"};
  return name_of(sides, names);
}

std::string_view direction_name(bool rowwise, bool columnwise) {
  return !columnwise ? "rowwise" : !rowwise ? "columnwise" : "both";
}

Result<void> check_x_and_out(const Tensor& x, const QuantizedTensor& out) {
  constexpr std::string_view kOp = PreparedQuantizeNvfp4Tiles::kName;
  DIECAST_CHECK(x.check("quantize_nvfp4_tiles: x"));
  DIECAST_CHECK(out.check(kOp, "out"));
  if (x.rows() == out.rows() && x.cols() == out.cols()) return {};
  return shapes_differ(kOp, "x", x.shape, out.shape);
}

std::string described(const Nvfp4TilesRequest& r) {
  return cat(direction_name(r.rowwise, r.columnwise), ", ", r.block_rows,
             "x16 blocks, row_scaled = ", r.row_scaled, ", profile ", profile_name(r.profile), ", ",
             layout_name(r.layout), " scales, E4M3 bound ", r.e4m3_bound);
}

// What `out` says of a request.
void describe(const QuantizedTensor& out, Nvfp4TilesRequest& request) {
  request.rowwise = out.has(false);
  request.columnwise = out.has(true);
  request.block_rows = out.block_rows;
  request.row_scaled = out.row_scaled;
  request.profile = out.profile;
  request.layout = out.layout;
  request.e4m3_bound = out.e4m3_bound;
}

// The arguments amax, codes and scales of a direction.
std::array<KernelArgument, 3> arguments_of(const QuantizedSide& side, std::int64_t stride) {
  return {KernelArgument::tensor(DType::f32, side.amax),
          KernelArgument::tensor(DType::u8, side.data),
          KernelArgument::tensor(DType::e4m3, side.scale, stride)};
}

}  // namespace

bool Nvfp4TilesRequest::shares_amax() const {
  return rowwise && columnwise && !row_scaled && rht == TransformedSides::none;
}

AmaxNans Nvfp4TilesRequest::nans() const {
  return ignores_nan(profile) ? AmaxNans::ignore : AmaxNans::propagate;
}

AmaxTransform Nvfp4TilesRequest::transform(bool of_columns) const {
  const auto own = of_columns ? TransformedSides::columnwise : TransformedSides::rowwise;
  if (rht != own && rht != TransformedSides::both) return AmaxTransform::none;
  return of_columns ? AmaxTransform::column : AmaxTransform::row;
}

RequestWord<62> Nvfp4TilesRequest::fields(OpKind kind) const {
  return request_word(kind)
      .add<4>(in)
      .add<1>(rowwise)
      .add<1>(columnwise)
      .add<5>(block_rows)
      .add<1>(row_scaled)
      .add<1>(amax_given)
      .add<2>(rows)
      .add<4>(profile)
      .add<2>(global)
      .add<2>(layout)
      .add<2>(four_over_six)
      .add<9>(e4m3_bound)
      .add<2>(rht)
      .add<16>(sign_mask)
      .add<1>(block_amax)
      .add<1>(stochastic);
}

Bindings Nvfp4TilesRequest::bindings(bool grouped, const Device& device) const {
  Bindings out;
  out.set("COLS", cols).set("ROWS", rows == RowsClass::any ? "any" : "apart").set("IN", in);
  out.set("GROUPED", grouped).set("DIRECTION", direction_name(rowwise, columnwise));
  out.set("BLOCK_ROWS", block_rows).set("PROFILE", profile_name(profile));
  out.set("GLOBAL", global_scale_name(global)).set("ROW_SCALE", row_scaled);
  out.set("LAYOUT", layout_name(layout)).set("BOUND", e4m3_bound);
  out.set("BLOCK_AMAX", Value::boolean(block_amax)).set("STOCHASTIC", Value::boolean(stochastic));
  out.set("FOUR_OVER_SIX", four_over_six_name(four_over_six));
  out.set("RHT", transformed_name(rht)).set("SIGN_MASK", int{sign_mask});
  // The host has no threads to spread a tile over: fewer fibers, fewer switches.
  if (device.properties().cc == 0) out.set("THREADS", 32);
  return out;
}

Nvfp4TilesRequest nvfp4_tiles_request(const Tensor& x, const QuantizedTensor& out,
                                      const QuantizeNvfp4TilesOptions& options) {
  Nvfp4TilesRequest request;
  describe(out, request);
  request.in = x.dtype;
  request.rows = rows_class(x) == RowsClass::any ? RowsClass::any : RowsClass::apart;
  request.amax_given = options.amax_given;
  request.global = options.global;
  request.four_over_six = options.four_over_six;
  request.rht = options.rht;
  if (options.rht != TransformedSides::none) request.sign_mask = options.sign_mask;
  request.block_amax = options.block_amax.given();
  request.stochastic = options.rng_state != nullptr;
  return request;
}

bool is_nothing(const Tensor& x, const QuantizedTensor& out) {
  const bool empty = x.rows() == 0 || x.cols() == 0;
  return empty && out.rowwise.amax == nullptr && out.columnwise.amax == nullptr;
}

Result<void> check_nvfp4_tiles(const Nvfp4TilesRequest& request, const QuantizedTensor& out,
                               std::string_view op) {
  if (out.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": out is ", format_name(out.format), ", not nvfp4"),
                 "describe out with format = Format::nvfp4"};
  }
  Nvfp4TilesRequest wanted = request;
  describe(out, wanted);
  if (wanted == request) return {};
  return Error{ErrorCode::not_supported,
               cat(op, ": prepared for ", described(request), "; out has ", described(wanted)),
               "prepare another op for this output"};
}

Result<void> check_block_amaxes(const Nvfp4TilesRequest& request, const BlockAmaxes& given,
                                std::string_view op) {
  for (const bool of_columns : {false, true}) {
    const bool wanted = request.block_amax && (of_columns ? request.columnwise : request.rowwise);
    const bool has = (of_columns ? given.columnwise : given.rowwise) != nullptr;
    if (wanted == has) continue;
    return Error{has ? ErrorCode::not_supported : ErrorCode::missing_buffer,
                 cat(op, ": block amaxes of the ", of_columns ? "columns" : "rows", " are ",
                     has ? "given and not taken" : "missing"),
                 "give those of each direction of out, where the op is prepared for them"};
  }
  return {};
}

Result<PreparedQuantizeNvfp4Tiles> PreparedQuantizeNvfp4Tiles::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  DIECAST_CHECK(check_device(device));
  PreparedQuantizeNvfp4Tiles prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.quantize_,
              preload_for(runtime, device, kName, request.bindings(false, *device)));
  if (!request.finds_amax()) return prepared;
  PreparedAmax::Request amax{request.in,       AmaxPer::tensor, request.rows,
                             request.cols,     request.nans(),  request.transform(false),
                             request.sign_mask};
  if (request.rowwise) {
    if (request.row_scaled) amax.per = AmaxPer::row;
    DIECAST_TRY(prepared.rowwise_amax_, PreparedAmax::prepare(runtime, device, amax));
  }
  if (request.columnwise && !request.shares_amax()) {
    if (request.row_scaled) amax.per = AmaxPer::column;
    amax.transform = request.transform(true);
    DIECAST_TRY(prepared.columnwise_amax_, PreparedAmax::prepare(runtime, device, amax));
  }
  return prepared;
}

Result<void> PreparedQuantizeNvfp4Tiles::check(const Tensor& x, const QuantizedTensor& out,
                                               const BlockAmaxes& block_amax) const {
  DIECAST_CHECK(check_x_and_out(x, out));
  if (x.rows() == 0 || x.cols() == 0) return {};
  DIECAST_CHECK(check_nvfp4_tiles(request_, out, kName));
  return check_block_amaxes(request_, block_amax, kName);
}

Result<void> PreparedQuantizeNvfp4Tiles::run(const Tensor& x, const QuantizedTensor& out,
                                             Stream stream, const BlockAmaxes& block_amax,
                                             const std::int64_t* rng_state) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  DIECAST_CHECK(check(x, out, block_amax));
  DIECAST_TRY(const KernelArgument rng, rng_argument(kName, request_.stochastic, rng_state));
  if (is_nothing(x, out)) return {};
  if (rowwise_amax_) DIECAST_CHECK(rowwise_amax_->run(x, out.rowwise.amax, false, stream, kName));
  if (columnwise_amax_) {
    DIECAST_CHECK(columnwise_amax_->run(x, out.columnwise.amax, false, stream, kName));
  } else if (request_.finds_amax() && request_.columnwise && out.columnwise.amax != nullptr) {
    DIECAST_CHECK(quantize_->device().copy_on_device(out.columnwise.amax, out.rowwise.amax,
                                                     sizeof(float), stream));
  }
  const auto across = arguments_of(out.rowwise, out.rowwise.scale_stride);
  // Dense columns are as far apart as the rows want that may be known to the device alone.
  const auto down = arguments_of(out.columnwise, 0);
  const KernelArgument arguments[] = {tensor_argument(x),
                                      across[0],
                                      across[1],
                                      across[2],
                                      down[0],
                                      down[1],
                                      down[2],
                                      KernelArgument::tensor(DType::u8, nullptr),
                                      rows_argument(x),
                                      cols_argument(x),
                                      KernelArgument::size(0),
                                      KernelArgument::size(out.columnwise.scale_stride),
                                      KernelArgument::tensor(DType::f32, block_amax.rowwise),
                                      KernelArgument::tensor(DType::f32, block_amax.columnwise),
                                      rng};
  return launch_op(kName, *quantize_, arguments, stream, {"x", &x, request_.rows, request_.cols});
}

Result<void> quantize_nvfp4_tiles(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                                  const QuantizeNvfp4TilesOptions& options, Stream stream) {
  if (is_nothing(x, out)) return check_x_and_out(x, out);
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedQuantizeNvfp4Tiles::Request::of(x, out, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeNvfp4Tiles>(runtime, device, request, stream));
  return prepared->run(x, out, stream, options.block_amax, options.rng_state);
}

}  // namespace diecast
