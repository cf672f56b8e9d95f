// What lies in a folder: its files and folders, and how much a folder holds in all.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast {

struct FolderEntry {
  std::string name;
  bool folder = false, link = false;
  mode_t mode = 0;          // permissions
  std::uint64_t bytes = 0;  // of a file
};

// By name, but for hidden ones. A link counts as what it leads to; one that leads nowhere is left
// out, and so is what is neither a file nor a folder. `path` ends in a slash. Errors: io_error.
Result<std::vector<FolderEntry>> folder_entries(const std::string& path, FileSystem& files);

// The files below a folder, by their paths from it; links to folders are not followed. Errors:
// io_error.
Result<std::vector<FolderEntry>> files_below(const std::string& path, FileSystem& files);

}  // namespace diecast
