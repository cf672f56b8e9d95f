// Launches in the order of the groups: the amax of each, then its members; see quantize_for.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_outputs.h>
#include <diecast/checkpoint/quantize_for_plan.h>
#include <diecast/checkpoint/weight_parts.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/prepared.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace diecast {
namespace {

constexpr std::string_view kWhat = "quantize_for";

Tensor view_of(const void* weight, std::uint64_t offset, DType type, std::int64_t rows,
               std::int64_t cols) {
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(weight)) + offset;
  return {begin, type, Shape{rows, cols}, 0, nullptr};
}

Error wrong_count(std::string_view what, std::size_t given, std::size_t wanted) {
  return {ErrorCode::invalid_argument,
          cat(kWhat, ": ", given, " ", what, " where ", wanted, " are prepared"),
          "give as many, in the same order, as prepare() was given and outputs() says"};
}

Error no_buffer(std::string_view what) {
  return {ErrorCode::missing_buffer, cat(kWhat, ": ", what, " is null"),
          "give memory of the device"};
}

}  // namespace

Result<QuantizeFor> QuantizeFor::prepare(std::shared_ptr<Runtime> runtime,
                                         std::shared_ptr<Device> device, std::string_view config,
                                         std::span<const NewWeight> weights,
                                         const QuantizeForOptions& options) {
  DIECAST_TRY(const Plan plan, plan_quantize_for(config, weights, options));
  QuantizeFor out;
  out.runtime_ = std::move(runtime);
  DIECAST_TRY(out.device_, device_or_default(*out.runtime_, device));
  out.scheme_ = options.scheme;
  out.weights_ = weights.size();
  DIECAST_CHECK(out.add_steps(plan, weights));
  if (is_mx(plan.form.format)) return out;
  DIECAST_TRY(out.decode_scale_,
              DecodeScaleKernel::prepare(*out.runtime_, out.device_, out.scheme_.type(),
                                         has_reciprocals(plan.form),
                                         plan.form.format != WeightFormat::nvfp4_w4a16));
  return out;
}

Result<void> QuantizeFor::add_steps(const Plan& plan, std::span<const NewWeight> weights) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    by_name.emplace(weights[i].name, i);
    if (!(weights[i].input_scale > 0) || !std::isfinite(weights[i].input_scale)) {
      return Error{
          ErrorCode::invalid_argument,
          cat(kWhat, ": the input scale of ", quote(weights[i].name), " is no positive number"),
          "give amax / 2688 of its inputs, 1.0 where it is not known"};
    }
  }
  std::vector<std::size_t> first_output;  // of each tensor
  for (const PlannedTensor& tensor : plan.tensors) {
    first_output.push_back(outputs_.size());
    for (TensorInfo& output : outputs_of(tensor)) {
      output.end = tensor_size(output.dtype, output.shape).bytes;
      outputs_.push_back(std::move(output));
      sources_.push_back(by_name.at(tensor.stored_in()));
    }
  }
  groups_ = plan.groups.size();
  for (std::size_t group = 0; group < groups_; ++group) {
    for (const std::size_t i : plan.groups[group]) {
      const PlannedTensor& tensor = plan.tensors[i];
      Step step;
      step.weight = by_name.at(tensor.stored_in());
      const NewWeight& given = weights[step.weight];
      step.dtype = given.dtype;
      const auto width = static_cast<std::uint64_t>(dtype_bits(step.dtype) / 8);
      step.offset = tensor.place ? tensor.place->first * width : 0;
      step.rows = static_cast<std::int64_t>(tensor.matrices.rows);
      step.cols = static_cast<std::int64_t>(tensor.matrices.cols);
      step.form = tensor.form;
      step.output = first_output[i];
      step.group = group;
      step.first = i == plan.groups[group][0];
      step.amax_given = given.amax_given;
      step.input_scale = given.input_scale;
      steps_.push_back(step);
    }
  }
  return {};
}

Result<void> QuantizeFor::find_amax(const Step& step, const void* weight, float* amax,
                                    Stream stream) const {
  AmaxOptions options;
  options.device = device_;
  options.accumulate = !step.first;
  options.nans = ignores_nan(scheme_.profile) ? AmaxNans::ignore : AmaxNans::propagate;
  return diecast::amax(*runtime_, view_of(weight, step.offset, step.dtype, step.rows, step.cols),
                       amax, options, stream);
}

Result<void> QuantizeFor::quantize(const Step& step, const void* weight, const float* amax,
                                   std::span<void* const> outputs, Stream stream) const {
  const Tensor x = view_of(weight, step.offset, step.dtype, step.rows, step.cols);
  QuantizedTensor out{.type = scheme_.type(), .shape = x.shape};
  if (is_mx(step.form.format)) {
    const bool bytes = step.form.format == WeightFormat::mxfp8;
    out.type = {.format = bytes ? Format::mxfp8_e4m3 : Format::mxfp4, .profile = Profile::torchao};
  }
  DIECAST_TRY(out.rowwise, out.rowwise_sizes());
  out.rowwise.data = outputs[step.output];
  out.rowwise.scale = outputs[step.output + 1];
  if (is_mx(step.form.format))
    return quantize_mx(*runtime_, x, out, {MxMode::rceil, device_}, stream);
  out.rowwise.amax = const_cast<float*>(amax);  // given, and so not written
  QuantizeNvfp4Options options;
  options.amax_given = true;
  options.device = device_;
  options.four_over_six = scheme_.four_over_six;
  DIECAST_CHECK(quantize_nvfp4(*runtime_, x, out, options, stream));
  const bool has_input = step.form.format != WeightFormat::nvfp4_w4a16;
  const float input = has_reciprocals(step.form) ? 1.0f / step.input_scale : step.input_scale;
  const auto at = [&](std::size_t i) { return static_cast<float*>(outputs[step.output + i]); };
  return decode_scale_.run(amax, at(2), has_input ? at(3) : nullptr, 1, input, stream);
}

Result<void> QuantizeFor::run(std::span<const void* const> weights,
                              std::span<const float* const> amaxes, std::span<void* const> outputs,
                              float* workspace, Stream stream) const {
  if (weights.size() != weights_) return wrong_count("weights", weights.size(), weights_);
  if (amaxes.size() != weights_) return wrong_count("amaxes", amaxes.size(), weights_);
  if (outputs.size() != outputs_.size())
    return wrong_count("outputs", outputs.size(), outputs_.size());
  if (workspace == nullptr && groups_ > 0) return no_buffer("the workspace");
  for (const Step& step : steps_) {
    if (weights[step.weight] == nullptr) return no_buffer("a weight");
    if (step.amax_given && amaxes[step.weight] == nullptr) return no_buffer("a given amax");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] == nullptr) return no_buffer(quote(outputs_[i].name));
  for (const Step& step : steps_) {
    if (!step.amax_given && !is_mx(step.form.format))
      DIECAST_CHECK(find_amax(step, weights[step.weight], workspace + step.group, stream));
  }
  for (const Step& step : steps_) {
    const float* const amax = step.amax_given ? amaxes[step.weight] : workspace + step.group;
    DIECAST_CHECK(quantize(step, weights[step.weight], amax, outputs, stream));
  }
  return {};
}

}  // namespace diecast
