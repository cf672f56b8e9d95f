// Headers to plan for, and what to ask of a plan.
#pragma once

#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace diecast::testing {

using Dims = std::vector<std::uint64_t>;

inline SafetensorsHeader header_of(std::vector<TensorInfo> tensors,
                                   Metadata metadata = {{"format", "pt"}}) {
  return lay_out(std::move(tensors), std::move(metadata)).value();
}

inline SafetensorsHeader weights(const std::vector<std::string>& names, Dims shape = {32, 64}) {
  std::vector<TensorInfo> tensors;
  for (const std::string& name : names) tensors.push_back({name, StoredDType::bf16, shape});
  return header_of(std::move(tensors));
}

inline const PlannedTensor& planned(const Plan& plan, const std::string& name) {
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.name == name) return tensor;
  }
  static const PlannedTensor kNone;
  ADD_FAILURE() << name << " is not in the plan";
  return kNone;
}

// "copy: rank 1", "quantize: "
inline std::string decision(const TensorInfo& tensor, QuantizeOptions options = {}) {
  options.force = true;  // copied or not
  const Plan plan = plan_quantize(header_of({tensor}), options).value();
  return std::string(action_name(plan.tensors[0].action)) + ": " + plan.tensors[0].reason;
}

inline std::string decision(const std::string& name, const QuantizeOptions& options = {}) {
  return decision(TensorInfo{name, StoredDType::bf16, {32, 64}}, options);
}

inline QuantizeOptions including(std::vector<std::string> globs) {
  QuantizeOptions options;
  options.include = std::move(globs);
  return options;
}

// "U8 [32, 32]"
inline std::string output(const Plan& plan, const std::string& name) {
  const TensorInfo* tensor = plan.outputs[0].find(name);
  return tensor ? std::string(stored_dtype_name(tensor->dtype)) + " " + shape_text(tensor->shape)
                : "none";
}

}  // namespace diecast::testing
