// Opening a directory from which code will be run: whoever can write there, or in a directory above
// it, can run code as this user. Every component is looked at once, on the way down from `/`, and
// the descriptor then stands for it whatever happens to its names.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>

#include <string>

namespace diecast {

// A readable descriptor of the directory. It must belong to this user or root and be writable by
// nobody else; the directories above it and the links passed must belong to this user or root, and
// where others may write (/tmp), only with the sticky bit. Below a directory that no other user can
// pass (a home of mode 700) write bits do not count: nobody gets there to use them. At most the
// last two components are created when missing, 0700: a misspelt path is not made real. Nothing
// found is ever changed. Without `create` nothing is. Errors: invalid_argument (empty, relative,
// `/`), unsafe_directory with the exact fix, file_not_found, io_error.
Result<Descriptor> open_trusted_directory(FileSystem& files, const std::string& path,
                                          bool create = true);

// The same for a regular file, for reading: it and the way to it are judged alike.
Result<Descriptor> open_trusted_file(FileSystem& files, const std::string& path);

// The same rule for a directory or file below a trusted one: owner and write bits.
bool is_private(const struct stat& status);

// unsafe_directory when the process runs with other rights than its user's (set-user-id, file
// capabilities): then its environment, which names the directory, is not to be trusted.
Result<void> check_own_rights();

}  // namespace diecast
