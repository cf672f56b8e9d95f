// The quantized weights that a folder has by its tensors' names and types, whatever its config
// says.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/verify/layer_form.h>

#include <string>
#include <vector>

namespace diecast {

struct FoundWeight {
  std::string name;   // "X.weight"; of experts in one tensor "P.experts.down_proj"
  std::string codes;  // the tensor
  // "X" and "P.experts", as configs know it.
  std::string module() const { return name.substr(0, name.rfind('.')); }
};

struct FoundWeights {
  std::vector<FoundWeight> weights;
  std::vector<std::string> lone_scales;  // tensors that are scales of none of these
  CheckpointHeader named;                // the header, but codes have their weight's name
  Plan plan;                             // one that would have made this folder, by its modules
};
FoundWeights find_weights(const CheckpointHeader& header);

// What is wrong with the parts of a weight that a config says to have this form.
struct PartFault {
  std::string kind, what;
};
std::vector<PartFault> part_faults(const CheckpointHeader& header, const FoundWeight& weight,
                                   const StoredForm& form);
std::vector<PartFault> part_faults(const CheckpointHeader& header, const FoundWeight& weight,
                                   const Fp8Layout& layout);

}  // namespace diecast
