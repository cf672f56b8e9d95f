// Would engines load this folder? What their loaders check, and what they get silently wrong, asked
// of any folder's config and tensors, in every form that `quantize` writes.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/verify/engine_rules.h>

#include <cstddef>
#include <string>
#include <vector>

namespace diecast {

struct VerifyFault {
  std::vector<Engine> engines;  // that reject it, or get it wrong
  std::string what, fix;
  std::size_t count = 1;  // of such faults; `what` is the first
};

struct VerifyReport {
  std::vector<VerifyFault> faults;
  std::size_t quantized = 0, others = 0;  // modules
  std::vector<std::string> notes;         // what may be meant so, a sentence each
  std::vector<Engine> unknown;            // whose rules of such weights are not written down
  bool loads(Engine engine) const;        // breaks no rule that is known
  bool is_known(Engine engine) const;
};

// Errors: io_error, not_supported (a config of another form).
Result<VerifyReport> verify_checkpoint(const Checkpoint& checkpoint,
                                       FileSystem& files = system_files());
// Of a model's folder by its path, or by the index in it. Errors: those of Checkpoint::open too;
// invalid_argument (a file, which engines do not load).
Result<VerifyReport> verify_folder(const std::string& path, FileSystem& files = system_files());

}  // namespace diecast
