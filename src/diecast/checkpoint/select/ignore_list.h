// The modules that a quantized model's config says to leave alone, in few entries that vLLM and
// SGLang read alike.
#pragma once

#include <diecast/checkpoint/plan.h>

#include <set>
#include <string>
#include <vector>

namespace diecast {

// Modules of matrices as engines know them: of X.weight X; of experts in one tensor, or in a tensor
// each, the module that holds them; and what is made of several (qkv_proj of q_proj, k_proj and
// v_proj).
struct EngineModules {
  std::set<std::string> quantized, others;
};
EngineModules engine_modules(const Plan& plan);

// Entries that match all of `others` and none of `quantized`: "A.B.*" of all that stands in A.B,
// "*.name" and "*.name.*" of what is called so wherever it is, and whole names. vLLM also takes an
// entry for a part of a name, and SGLang one that ends in a projection of compressed attention for
// that projection of every layer; neither is wrong of these. lm_head is always among them: a model
// that ties it to its embedding has no tensor of it. So is mtp.*: draft layers may lie in a file
// that is copied as it is.
std::vector<std::string> ignore_list(const EngineModules& modules);

// The same as compressed-tensors has them: whole names, and after "re:" expressions that a name
// must begin with a match of. A tower's or a layer's has no beginning of its own, because engines
// rename what stands before it.
std::vector<std::string> ignore_patterns(const EngineModules& modules);

}  // namespace diecast
