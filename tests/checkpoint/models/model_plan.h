// Plans for model folders, which need their headers and configs alone.
#pragma once

#include <checkpoint/models/model_folder.h>
#include <checkpoint/plan_fixture.h>

#include <utility>

namespace diecast::testing {

inline CheckpointHeader model_header(const ModelFolder& folder) {
  std::vector<TensorInfo> tensors;
  for (const ModelTensor& tensor : tensors_of(folder))
    tensors.push_back({tensor.name, parse_stored_dtype(tensor.dtype).value(), tensor.shape});
  return header_of(std::move(tensors));
}

inline Result<Plan> model_plan(const ModelFolder& folder, QuantizeOptions options = {}) {
  options.model = parse_model_config(folder.config);
  return plan_quantize(model_header(folder), options);
}

}  // namespace diecast::testing
