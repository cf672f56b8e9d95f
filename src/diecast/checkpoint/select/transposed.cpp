// What biases tell of their weights; see transposed.h.
#include <diecast/checkpoint/select/transposed.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>

namespace diecast {
namespace {

// Its bias has a value for each of its columns: 1; of its rows: -1; or says nothing: 0.
int bias_side(const CheckpointHeader& header, const TensorInfo& tensor) {
  if (tensor.shape.size() != 2 || !tensor.name.ends_with(kWeightSuffix)) return 0;
  const TensorInfo* bias = header.find(part_name(tensor.name, "bias"));
  if (bias == nullptr || bias->shape.size() != 1 || tensor.shape[0] == tensor.shape[1]) return 0;
  return bias->shape[0] == tensor.shape[1] ? 1 : bias->shape[0] == tensor.shape[0] ? -1 : 0;
}

}  // namespace

TransposedWeights::TransposedWeights(const CheckpointHeader& header, const LanguageModel& model,
                                     const ModelConfig& config)
    : header_(header), any_(config.model_type == "gpt2" || config.model_type == "openai-gpt") {
  any_ = any_ || std::ranges::any_of(header.tensors, [&](const TensorInfo& tensor) {
           if (!model.outside(tensor.name).empty()) return false;
           const bool joined = tensor.name.ends_with(".c_attn.weight") &&
                               tensor.shape.size() == 2 && tensor.shape[1] / 3 == tensor.shape[0];
           return joined || bias_side(header, tensor) > 0;
         });
}

bool TransposedWeights::has(const TensorInfo& tensor) const {
  return any_ && tensor.shape.size() == 2 && bias_side(header_, tensor) >= 0;
}

}  // namespace diecast
