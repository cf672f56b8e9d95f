// New weights for a quantized folder, as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/op_table.h>
#include <diecast/c/tensors.h>
#include <diecast/checkpoint/quantize_for.h>

#include <algorithm>
#include <span>
#include <vector>

namespace diecast::c {
namespace {

constexpr char kPrepare[] = "diecast_quantize_for_prepare", kRun[] = "diecast_quantize_for_run",
               kOutputs[] = "diecast_quantize_for_outputs",
               kSources[] = "diecast_quantize_for_sources";

struct QuantizeForObject : Object {
  static constexpr Kind kKind = Kind::quantize_for;
  QuantizeForObject(QuantizeFor it, std::shared_ptr<Device> on, std::vector<NewWeight> of)
      : Object(kKind), op(std::move(it)), device(std::move(on)), weights(std::move(of)) {}
  QuantizeFor op;
  std::shared_ptr<Device> device;
  std::vector<NewWeight> weights;
};

Error no_room(std::string_view function, std::size_t outputs, std::size_t capacity) {
  return {ErrorCode::shape_mismatch,
          cat(function, ": ", outputs, " outputs, and room for ", capacity),
          "ask diecast_quantize_for_outputs for the count first, with outputs null"};
}

Result<QuantizeForOptions> options_of(const diecast_quantize_for_options& given) {
  QuantizeForOptions out;
  DIECAST_TRY(out.scheme.profile, read_word<Profile>(given.profile, kPrepare, "profile"));
  DIECAST_TRY(out.scheme.four_over_six,
              read_word<FourOverSix>(given.four_over_six, kPrepare, "four_over_six"));
  if (given.e4m3_bound != 0) out.scheme.e4m3_bound = given.e4m3_bound;
  out.whole_families = given.whole_families != 0;
  return out;
}

// The type and shape of a tensor that may have no memory yet.
Result<NewWeight> described(const diecast_new_weight& given) {
  DIECAST_CHECK(check_given(given.name, kPrepare, "name"));
  DIECAST_CHECK(check_given(given.tensor, kPrepare, given.name));
  const TensorName name{kPrepare, given.name};
  diecast_tensor tensor = *given.tensor;
  tensor.data = reinterpret_cast<void*>(std::uintptr_t{4096});
  tensor.byte_offset = 0;
  DIECAST_CHECK(check_tensor(tensor, name));
  NewWeight out;
  out.name = given.name;
  DIECAST_TRY(const Tensor view, tensor_of(&tensor, name));
  out.dtype = view.dtype;
  out.shape = view.shape;
  out.amax_given = given.amax != nullptr;
  if (given.input_scale != 0) out.input_scale = given.input_scale;
  return out;
}

// The address of a tensor of the device, dense.
Result<void*> memory_of(const diecast_tensor* tensor, std::uint64_t bytes, const Device& device,
                        const TensorName& name) {
  DIECAST_CHECK(check_given(tensor, kRun, name.tensor));
  DIECAST_TRY(const Extent extent, check_tensor(*tensor, name));
  DIECAST_CHECK(check_place(*tensor, device, name));
  const auto there =
      static_cast<std::uint64_t>(extent.rows) * static_cast<std::uint64_t>(extent.width);
  if (there == bytes && (extent.rows <= 1 || extent.pitch == extent.width)) return data_of(tensor);
  return Error{ErrorCode::shape_mismatch,
               cat(name.text(), " is not dense, or has ", there, " bytes and not ", bytes),
               "give what was prepared for, and what diecast_quantize_for_outputs says"};
}

Result<float*> amax_of(const diecast_tensor* given, const Device& device) {
  const TensorName name{kRun, "amax"};
  if (given == nullptr) return static_cast<float*>(nullptr);
  DIECAST_CHECK(memory_of(given, sizeof(float), device, name));
  return floats_of(given, 1, name);
}

// The addresses of weights as the op takes them.
struct Given {
  std::vector<const void*> weights;
  std::vector<const float*> amaxes;

  Result<void> add(const diecast_new_weight& weight, const NewWeight& wanted,
                   const Device& device) {
    const TensorName name{kRun, wanted.name};
    DIECAST_CHECK(check_given(weight.tensor, kRun, wanted.name));
    if (dtype_of(*weight.tensor) != wanted.dtype) {
      return Error{ErrorCode::dtype_mismatch,
                   cat(name.text(), " is ", type_text(*weight.tensor), ", prepared for ",
                       dtype_name(wanted.dtype)),
                   "give a tensor of that type"};
    }
    DIECAST_TRY(const std::int64_t elements, wanted.shape.elements());
    const auto bytes = static_cast<std::uint64_t>(elements * dtype_bits(wanted.dtype) / 8);
    DIECAST_TRY(weights.emplace_back(), memory_of(weight.tensor, bytes, device, name));
    DIECAST_TRY(amaxes.emplace_back(), amax_of(weight.amax, device));
    return {};
  }
};

Result<void> run(const QuantizeForObject& object, std::span<const diecast_new_weight> weights,
                 std::span<const diecast_tensor* const> outputs, const diecast_tensor* workspace,
                 Stream stream) {
  const Device& device = *object.device;
  const auto infos = object.op.outputs();
  if (weights.size() != object.weights.size() || outputs.size() != infos.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat(kRun, ": ", weights.size(), " weights and ", outputs.size(),
                     " outputs, prepared for ", object.weights.size(), " and ", infos.size()),
                 "give those that were prepared, in that order"};
  }
  Given given;
  for (std::size_t i = 0; i < weights.size(); ++i)
    DIECAST_CHECK(given.add(weights[i], object.weights[i], device));
  std::vector<void*> to;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    DIECAST_TRY(to.emplace_back(),
                memory_of(outputs[i], infos[i].bytes(), device, {kRun, infos[i].name}));
  }
  float* scratch = nullptr;
  if (const std::uint64_t bytes = object.op.workspace_bytes(); bytes > 0) {
    const TensorName name{kRun, "workspace"};
    DIECAST_CHECK(memory_of(workspace, bytes, device, name));
    DIECAST_TRY(scratch, floats_of(workspace, static_cast<std::int64_t>(bytes / 4), name));
  }
  return object.op.run(given.weights, given.amaxes, to, scratch, stream);
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_quantize_for_prepare(diecast_handle runtime, diecast_handle device,
                                          const char* config, const diecast_new_weight* weights,
                                          std::size_t count,
                                          const diecast_quantize_for_options* options,
                                          diecast_handle* prepared) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(config, kPrepare, "config"));
    DIECAST_CHECK(check_given(prepared, kPrepare, "prepared"));
    if (count != 0) DIECAST_CHECK(check_given(weights, kPrepare, "weights"));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, kPrepare));
    DIECAST_TRY(auto on, device_of(device, *with->runtime, kPrepare));
    DIECAST_TRY(const auto given,
                read_structure(options, diecast_quantize_for_options{}, "options"));
    DIECAST_TRY(const QuantizeForOptions how, options_of(given));
    std::vector<NewWeight> all;
    for (const diecast_new_weight& weight : std::span(weights, count)) {
      DIECAST_TRY(all.emplace_back(), described(weight));
    }
    DIECAST_TRY(QuantizeFor op, QuantizeFor::prepare(with->runtime, on, config, all, how));
    return open_as<QuantizeForObject>(prepared, std::move(op), std::move(on), std::move(all));
  });
}

std::int32_t diecast_quantize_for_outputs(diecast_handle prepared, diecast_stored_tensor* outputs,
                                          std::size_t capacity, std::size_t* count,
                                          std::uint64_t* workspace_bytes) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(count, kOutputs, "count"));
    Used<QuantizeForObject> used;
    DIECAST_CHECK(used.take(prepared, kOutputs));
    const auto all = used->op.outputs();
    *count = all.size();
    if (workspace_bytes != nullptr) *workspace_bytes = used->op.workspace_bytes();
    if (outputs == nullptr) return {};
    if (capacity < all.size()) return no_room(kOutputs, all.size(), capacity);
    for (const TensorInfo& info : all) {
      diecast_stored_tensor& out = *outputs++;
      out = {info.name.c_str(),
             stored_dtype_name(info.dtype).data(),
             static_cast<std::int32_t>(info.shape.size()),
             {},
             info.bytes()};
      std::ranges::transform(info.shape, out.shape,
                             [](std::uint64_t dim) { return static_cast<std::int64_t>(dim); });
    }
    return {};
  });
}

std::int32_t diecast_quantize_for_sources(diecast_handle prepared, std::size_t* weights,
                                          std::size_t capacity) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(weights, kSources, "weights"));
    Used<QuantizeForObject> used;
    DIECAST_CHECK(used.take(prepared, kSources));
    const auto all = used->op.sources();
    if (capacity < all.size()) return no_room(kSources, all.size(), capacity);
    std::ranges::copy(all, weights);
    return {};
  });
}

std::int32_t diecast_quantize_for_run(diecast_handle prepared, const diecast_new_weight* weights,
                                      std::size_t count, const diecast_tensor* const* outputs,
                                      std::size_t output_count, const diecast_tensor* workspace,
                                      void* stream) {
  return at_border([&]() -> Result<void> {
    if (count != 0) DIECAST_CHECK(check_given(weights, kRun, "weights"));
    if (output_count != 0) DIECAST_CHECK(check_given(outputs, kRun, "outputs"));
    Used<QuantizeForObject> used;
    DIECAST_CHECK(used.take(prepared, kRun));
    return run(*used, std::span(weights, count), std::span(outputs, output_count), workspace,
               Stream{stream});
  });
}

}  // extern "C"
