// Weights that lie as [inputs, outputs], as GPT-2's Conv1D has them: engines transpose them as they
// load, and know no scales of them.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/select/language_model.h>
#include <diecast/checkpoint/select/model_config.h>

namespace diecast {

class TransposedWeights {
 public:
  // A model has them if its config says so, if a bias has a value for each column of its weight, or
  // if a c_attn has three times as many columns as rows. Keeps the header.
  TransposedWeights(const CheckpointHeader& header, const LanguageModel& model,
                    const ModelConfig& config);

  // Of such a model every matrix, but for those whose bias has a value for each row.
  bool has(const TensorInfo& tensor) const;

 private:
  const CheckpointHeader& header_;
  bool any_ = false;
};

}  // namespace diecast
