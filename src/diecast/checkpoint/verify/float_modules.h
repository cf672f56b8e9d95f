// Modules that engines build of floating-point numbers, whatever a model's config says of them.
#pragma once

#include <diecast/checkpoint/stored_form.h>
#include <diecast/checkpoint/verify/engine_rules.h>

#include <string_view>
#include <vector>

namespace diecast {

// The engines that read this weight so and not in the form; `drafts`: it is in a draft layer.
//   both       embeddings; towers and projectors; kv_b_proj, which they absorb; the keys of
//   DeepSeek's indexer;
//              eh_proj, which joins a draft layer's inputs; mtp.fc in ModelOpt's NVFP4
//   SGLang     all of a draft layer in ModelOpt's NVFP4, and mtp.fc in any form
std::vector<Engine> built_of_floats(std::string_view weight, const StoredForm& form, bool drafts);

}  // namespace diecast
