// Weights that ranks share, as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/op_table.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/c/tensors.h>
#include <diecast/ops/weights/callback_communicator.h>
#include <diecast/ops/weights/master_weights.h>

#include <optional>
#include <span>
#include <vector>

namespace diecast::c {
namespace {

constexpr char kFunction[] = "diecast_cast_master_weights";

Result<void> answer(std::int32_t returned, std::string_view function) {
  if (returned == 0) return {};
  return Error{ErrorCode::driver_error, cat(function, " of the caller's ranks returned ", returned),
               "see why the framework's group failed"};
}

// The caller's functions, which live as long as the call.
Result<CallbackCommunicator> communicator_of(const diecast_ranks& ranks) {
  if (ranks.all_reduce_max == nullptr) return null_argument(kFunction, "ranks.all_reduce_max");
  if (ranks.all_gather == nullptr) return null_argument(kFunction, "ranks.all_gather");
  CommunicatorCallbacks callbacks;
  callbacks.all_reduce_max = [ranks](float* values, std::int64_t count, Stream stream) {
    return answer(ranks.all_reduce_max(ranks.user, values, count, stream.handle), "all_reduce_max");
  };
  callbacks.all_gather = [ranks](const Gather& gather, Stream stream) {
    return answer(ranks.all_gather(ranks.user, gather.buffer, gather.offsets.data(),
                                   gather.counts.data(), stream.handle),
                  "all_gather");
  };
  return CallbackCommunicator::make(ranks.rank, ranks.count, std::move(callbacks));
}

// Checks a tensor of a weight where it is given.
Result<void> check(const diecast_tensor* tensor, const Device& device, const TensorName& name) {
  if (tensor == nullptr) return {};
  DIECAST_CHECK(check_tensor(*tensor, name));
  return check_place(*tensor, device, name);
}

Result<QuantizedTensor> weight_of(const diecast_master_weight& given, ScaleLayout layout,
                                  bool padded, const Device& device) {
  DIECAST_CHECK(check(given.data, device, {kFunction, "data"}));
  DIECAST_CHECK(check(given.scale, device, {kFunction, "scale"}));
  DIECAST_CHECK(check(given.amax, device, {kFunction, "amax"}));
  QuantizedTensor out;
  out.type.square = true;
  out.type.layout = layout;
  DIECAST_CHECK(bytes_of(given.data, {kFunction, "data"}));
  DIECAST_TRY(out.shape,
              unquantized_shape(*given.data, Format::nvfp4, false, 0, given.cols, kFunction));
  DIECAST_CHECK(read_side(out, false, given.data, given.scale, kFunction, "data", "scale", padded));
  DIECAST_TRY(out.rowwise.amax, floats_of(given.amax, 1, {kFunction, "amax"}));
  out.rowwise.amax_count = 1;
  return out;
}

// The shard, as one row; without a master none.
Result<Tensor> shard_of(const diecast_master_weight& given, const Device& device) {
  const TensorName name{kFunction, "master"};
  if (given.master == nullptr) return Tensor{.dtype = DType::f32, .shape = Shape{0}};
  DIECAST_CHECK(check(given.master, device, name));
  DIECAST_TRY(Tensor out, tensor_of(given.master, name));
  if (out.row_stride != 0)
    return Error{ErrorCode::shape_mismatch, cat(name.text(), ": its rows are apart"),
                 "pass a contiguous tensor"};
  out.shape = Shape{elements_of(*given.master)};
  return out;
}

// What a call casts, and how.
struct Cast {
  std::vector<QuantizedTensor> models;
  std::vector<Tensor> masters;
  std::vector<std::int64_t> starts;
  MasterCastOptions options;

  Result<void> read(std::span<const diecast_master_weight> weights,
                    const diecast_master_cast_options& given, const Device& device) {
    if (given.fault != nullptr)
      return Error{ErrorCode::invalid_argument, given.fault,
                   given.fault_fix == nullptr ? "" : given.fault_fix};
    DIECAST_TRY(const ScaleLayout layout,
                read_word<ScaleLayout>(given.layout, kFunction, "layout"));
    DIECAST_TRY(const FloatType model, read_word<FloatType>(given.model, kFunction, "model"));
    options.model = *parse_dtype(word(model));
    options.gather = given.keep_shards == 0;
    options.padded_scales = given.padded_scales != 0;
    for (const diecast_master_weight& weight : weights) {
      DIECAST_TRY(models.emplace_back(), weight_of(weight, layout, options.padded_scales, device));
      DIECAST_TRY(masters.emplace_back(), shard_of(weight, device));
      starts.push_back(weight.start);
    }
    return {};
  }
};

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_cast_master_weights(diecast_handle runtime, diecast_handle device,
                                         const diecast_master_weight* weights, std::size_t count,
                                         const diecast_ranks* ranks,
                                         const diecast_master_cast_options* options, void* stream) {
  return at_border([&]() -> Result<void> {
    if (count != 0) DIECAST_CHECK(check_given(weights, kFunction, "weights"));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, kFunction));
    DIECAST_TRY(const auto on, device_of(device, *with->runtime, kFunction));
    DIECAST_TRY(const auto given,
                read_structure(options, diecast_master_cast_options{}, "options"));
    std::optional<CallbackCommunicator> group;
    if (ranks != nullptr) {
      DIECAST_TRY(const diecast_ranks all, read_structure(ranks, diecast_ranks{}, "ranks"));
      DIECAST_TRY(group, communicator_of(all));
    }
    Cast cast;
    cast.options.device = on;
    const Result<void> read = cast.read(std::span(weights, count), given, *on);
    const Error fault = read ? Error{} : read.error();  // the others have to hear of it
    if (!read) cast.options.fault = &fault;
    return cast_master_weights_to_nvfp4(*with->runtime, cast.models, cast.masters, cast.starts,
                                        group ? &*group : nullptr, cast.options, Stream{stream});
  });
}

}  // extern "C"
