// Files of weights beside a checkpoint that engines pass over.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>

#include <string>
#include <vector>

namespace diecast {

// Engines read the files that the index names, and no others: a sentence that names these, or
// nothing. Errors: io_error.
Result<std::vector<std::string>> unread_files(const Checkpoint& checkpoint, FileSystem& files);

}  // namespace diecast
