// quantize_nvfp4_grouped: the descriptors and amaxes that are not given, then one launch for all.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_grouped.h>

#include <algorithm>
#include <iterator>

namespace diecast {
namespace {

constexpr std::string_view kGroupedOp = PreparedQuantizeNvfp4Grouped::kName;

AmaxGroupedRequest amax_request(const QuantizeNvfp4Request& request, bool of_columns) {
  const AmaxRequest one = request.amax(of_columns);
  return {.in = one.in,
          .per = one.per,
          .rows = one.rows,
          .cols = one.cols,
          .nans = one.nans,
          .transform = one.transform,
          .sign_mask = one.sign_mask};
}

// What a launch checks of the addresses that it is given; here they are in descriptors.
Result<void> check_addresses(const QuantizedTensor& out) {
  for (const QuantizedSide* side : {&out.rowwise, &out.columnwise}) {
    const auto data = reinterpret_cast<std::uintptr_t>(side->data);
    const auto amax = reinterpret_cast<std::uintptr_t>(side->amax);
    if (data % 8 == 0 && amax % sizeof(float) == 0) continue;
    return Error{ErrorCode::misaligned,
                 cat(kGroupedOp, ": the ", side == &out.rowwise ? "rowwise" : "columnwise",
                     " data starts ", data % 8, " bytes past a multiple of 8, the amax ",
                     amax % sizeof(float), " past one of 4"),
                 "start codes at multiples of 8 bytes and amaxes at multiples of 4"};
  }
  return {};
}

bool holds_nothing(const TensorGroup& group) {
  return std::ranges::all_of(
      group.pairs, [](const QuantizedPair& pair) { return is_nothing(pair.x, pair.out); });
}

}  // namespace

Result<void> check_quantize_nvfp4_grouped(const Tensor& x, const QuantizedGroup& group) {
  DIECAST_CHECK(x.check("quantize_nvfp4_grouped: x"));
  DIECAST_CHECK(group.check(kGroupedOp));
  return group.check_matrix(kGroupedOp, x);
}

QuantizeNvfp4GroupedRequest QuantizeNvfp4GroupedRequest::of(const Tensor& x,
                                                            const QuantizedTensor& out,
                                                            const QuantizeNvfp4Options& options,
                                                            bool described) {
  QuantizeNvfp4GroupedRequest request{QuantizeNvfp4Request::of(x, out, options), described};
  request.cols = 0;
  request.scales_apart = false;  // a member's own affair
  if (request.rows == RowsClass::dense) request.rows = RowsClass::apart;
  return request;
}

std::vector<KernelWanted> QuantizeNvfp4GroupedRequest::kernels(
    const DeviceProperties& device) const {
  std::vector<KernelWanted> out = {nvfp4_tiles_kernel(*this, true, device)};
  if (!described) out.push_back(PreparedDescribeGroup::kernel(this->out));
  const auto add_amax = [&](bool of_columns) {
    std::ranges::move(amax_request(*this, of_columns).kernels(device), std::back_inserter(out));
  };
  if (finds_amax() && has_rows(sides)) add_amax(false);
  if (finds_amax() && has_columns(sides) && !shares_amax()) add_amax(true);
  return out;
}

Result<PreparedQuantizeNvfp4Grouped> PreparedQuantizeNvfp4Grouped::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  PreparedQuantizeNvfp4Grouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(
      prepared.quantize_,
      preload_for(runtime, device, nvfp4_tiles_kernel(request, true, device->properties())));
  if (!request.described) {
    DIECAST_TRY(prepared.describe_, PreparedDescribeGroup::prepare(runtime, device, request.out));
  }
  if (!request.finds_amax()) return prepared;
  if (has_rows(request.sides)) {
    DIECAST_TRY(prepared.rowwise_,
                PreparedAmaxGrouped::prepare(runtime, device, amax_request(request, false)));
  }
  if (has_columns(request.sides) && !request.shares_amax()) {
    DIECAST_TRY(prepared.columnwise_,
                PreparedAmaxGrouped::prepare(runtime, device, amax_request(request, true)));
  }
  return prepared;
}

Result<void> PreparedQuantizeNvfp4Grouped::check_rows(const Tensor& x) const {
  const bool held = request_.rows == RowsClass::any || rows_class(x) != RowsClass::any;
  if (held || x.rows() == 0) return {};
  return Error{ErrorCode::misaligned,
               cat(kGroupedOp, ": ", x.shape.text(),
                   " is not whole blocks of 16 from multiples of 16 bytes on, as prepared for"),
               "prepare with rows = RowsClass::any"};
}

Result<void> PreparedQuantizeNvfp4Grouped::check(const Tensor& x,
                                                 const QuantizedGroup& group) const {
  DIECAST_CHECK(check_quantize_nvfp4_grouped(x, group));
  if (x.dtype != request_.in) return other_input(kGroupedOp, x.dtype, request_.in);
  if (is_nothing(x, group.whole)) return {};
  DIECAST_CHECK(check_nvfp4_output(request_, group.whole, false, kGroupedOp));
  DIECAST_CHECK(check_addresses(group.whole));
  return check_rows(x);
}

Result<void> PreparedQuantizeNvfp4Grouped::check(const TensorGroup& group) const {
  DIECAST_CHECK(group.check(kGroupedOp));
  const QuantizedPair& one = *group.first();
  if (one.x.dtype != request_.in) return other_input(kGroupedOp, one.x.dtype, request_.in);
  if (holds_nothing(group)) return {};
  DIECAST_CHECK(check_nvfp4_output(request_, one.out, false, kGroupedOp));
  for (const QuantizedPair& pair : group.pairs) {
    DIECAST_CHECK(check_addresses(pair.out));
    DIECAST_CHECK(check_rows(pair.x));
  }
  return {};
}

template <class Group>
Result<void> PreparedQuantizeNvfp4Grouped::find_amaxes(const Group& group, Stream stream) const {
  if (rowwise_) {
    const Sides sides = request_.shares_amax() ? Sides::both : Sides::rowwise;
    DIECAST_CHECK(rowwise_->find(group, sides, stream));
  }
  return columnwise_ ? columnwise_->find(group, Sides::columnwise, stream) : Result<void>();
}

Result<void> PreparedQuantizeNvfp4Grouped::launch(const MemberDescriptor* members, DType in,
                                                  std::int64_t rows, std::int64_t cols,
                                                  std::int64_t count, const BlockAmaxes& block_amax,
                                                  const std::int64_t* rng_state,
                                                  Stream stream) const {
  const args::QuantizeNvfp4Tiles arguments{.x = KernelArgument::tensor(in, nullptr),
                                           .members = members,
                                           .rows = rows,
                                           .cols = cols,
                                           .count = count,
                                           .pitch_t = 0,
                                           .block_amax = block_amax.rowwise,
                                           .block_amax_t = block_amax.columnwise,
                                           .rng = rng_state};
  return launch_op(kGroupedOp, *quantize_, arguments, stream, {.cols = request_.cols});
}

Result<void> PreparedQuantizeNvfp4Grouped::run(const Tensor& x, const QuantizedGroup& group,
                                               Stream stream, const BlockAmaxes& block_amax,
                                               const std::int64_t* rng_state) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  DIECAST_CHECK(check(x, group));
  DIECAST_CHECK(check_block_amaxes(request_, block_amax, kGroupedOp));
  DIECAST_CHECK(check_rng(request_, rng_state, kGroupedOp));
  if (group.count == 0 || is_nothing(x, group.whole)) return {};
  if (describe_) DIECAST_CHECK(describe_->run(x, group, kGroupedOp, stream));
  DIECAST_CHECK(find_amaxes(group, stream));
  return launch(group.members, x.dtype, x.rows(), x.cols(), group.count, block_amax, rng_state,
                stream);
}

Result<void> PreparedQuantizeNvfp4Grouped::run(const TensorGroup& group, Stream stream,
                                               const BlockAmaxes& block_amax,
                                               const std::int64_t* rng_state) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  if (group.pairs.empty()) return {};
  DIECAST_CHECK(check(group));
  DIECAST_CHECK(check_block_amaxes(request_, block_amax, kGroupedOp));
  DIECAST_CHECK(check_rng(request_, rng_state, kGroupedOp));
  if (holds_nothing(group)) return {};
  DIECAST_CHECK(find_amaxes(group, stream));
  return launch(group.members, group.first()->x.dtype, group.rows(), group.cols(), group.count(),
                block_amax, rng_state, stream);
}

Result<void> quantize_nvfp4_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                    const QuantizeNvfp4GroupedOptions& options, Stream stream) {
  if (is_nothing(x, group.whole)) return check_quantize_nvfp4_grouped(x, group);
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = QuantizeNvfp4GroupedRequest::of(x, group.whole, options, options.described);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeNvfp4Grouped>(runtime, device, request, stream));
  return prepared->run(x, group, stream, options.block_amax, options.rng_state);
}

Result<void> quantize_nvfp4_grouped(Runtime& runtime, const TensorGroup& group,
                                    const QuantizeNvfp4Options& options, Stream stream) {
  if (group.pairs.empty()) return {};
  DIECAST_CHECK(group.check(kGroupedOp));
  if (holds_nothing(group)) return {};
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const QuantizedPair& one = *group.first();
  auto request = QuantizeNvfp4GroupedRequest::of(one.x, one.out, options, true);
  for (const QuantizedPair& pair : group.pairs) {
    if (pair.x.rows() > 0 && rows_class(pair.x) == RowsClass::any) request.rows = RowsClass::any;
  }
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeNvfp4Grouped>(runtime, device, request, stream));
  return prepared->run(group, stream, options.block_amax, options.rng_state);
}

}  // namespace diecast
