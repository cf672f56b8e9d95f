// What follows from a request of quantize_nvfp4, and the checks that its forms share; see
// quantize_nvfp4_request.h.
#include <diecast/base/text.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>

namespace diecast {

AmaxTransform QuantizeNvfp4Request::transform(bool of_columns) const {
  const auto own = of_columns ? TransformedSides::columnwise : TransformedSides::rowwise;
  if (rht != own && rht != TransformedSides::both) return AmaxTransform::none;
  return of_columns ? AmaxTransform::columnwise : AmaxTransform::rowwise;
}

AmaxRequest QuantizeNvfp4Request::amax(bool of_columns) const {
  AmaxRequest request;
  request.in = in;
  request.rows = rows;
  request.cols = cols;
  if (out.row_scaled) request.per = of_columns ? AmaxPer::column : AmaxPer::row;
  request.nans = ignores_nan(out.profile) ? AmaxNans::ignore : AmaxNans::propagate;
  request.transform = transform(of_columns);
  if (request.transform != AmaxTransform::none) request.sign_mask = sign_mask;
  return request;
}

KernelWanted nvfp4_tiles_kernel(const QuantizeNvfp4Request& request, bool grouped,
                                const DeviceProperties& device) {
  Bindings bindings;
  bindings.set("BLOCK_ROWS", request.out.block_rows()).set("GROUPED", grouped);
  // The host has no threads to spread a tile over: fewer fibers, fewer switches.
  if (device.cc == 0) bindings.set("THREADS", 32);
  return kernel_of("quantize_nvfp4_tiles", request, std::move(bindings));
}

Result<void> check_nvfp4_output(const QuantizeNvfp4Request& request, const QuantizedTensor& out,
                                bool scales_apart, std::string_view op) {
  if (out.type.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": out is ", word(out.type.format), ", not nvfp4"),
                 "describe out with format = Format::nvfp4"};
  }
  QuantizeNvfp4Request wanted = request;
  wanted.out = out.type;
  wanted.sides = out.sides();
  wanted.scales_apart = scales_apart;
  if (wanted == request) return {};
  return not_as_prepared(op, "out", request, wanted);
}

Result<void> check_block_amaxes(const QuantizeNvfp4Request& request, const BlockAmaxes& given,
                                std::string_view op) {
  for (const bool of_columns : {false, true}) {
    const bool written = of_columns ? has_columns(request.sides) : has_rows(request.sides);
    const bool wanted = request.block_amax && written;
    const bool has = (of_columns ? given.columnwise : given.rowwise) != nullptr;
    if (wanted == has) continue;
    return Error{has ? ErrorCode::not_supported : ErrorCode::missing_buffer,
                 cat(op, ": block amaxes of the ", of_columns ? "columns" : "rows", " are ",
                     has ? "given and not taken" : "missing"),
                 "give those of each direction of out, where the op is prepared for them"};
  }
  return {};
}

Result<void> check_rng(const QuantizeNvfp4Request& request, const std::int64_t* state,
                       std::string_view op) {
  if (request.stochastic == (state != nullptr)) return {};
  return Error{request.stochastic ? ErrorCode::missing_buffer : ErrorCode::not_supported,
               cat(op, ": rng_state is ", request.stochastic ? "null" : "given",
                   ", prepared for stochastic rounding: ", request.stochastic),
               "give {seed, offset} in device memory where the request says stochastic"};
}

}  // namespace diecast
