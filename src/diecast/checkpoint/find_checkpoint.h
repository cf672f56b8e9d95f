// Which files of a folder are its checkpoint: the usual names, the one there is, or what a download
// cache points to.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>

#include <string>

namespace diecast {

struct CheckpointPlace {
  std::string folder, name;  // a .safetensors file, or an index of several
};

// `path`: a folder with model.safetensors or an index of several, with one other .safetensors file
// or index, or the top of a hub's cache (models--org--name), whose main revision is taken; or
// "org/name" of which the local cache has that revision (HF_HUB_CACHE, HF_HOME). Nothing is
// downloaded. Errors: file_not_found (with what was found in its place), not_supported (.bin files,
// an adapter, a pipeline of several models), invalid_argument (a choice), io_error.
Result<CheckpointPlace> find_checkpoint(const std::string& path, FileSystem& files);

bool is_folder(FileSystem& files, const std::string& path);

// A folder's path without slashes at its end, with which shells complete it.
std::string without_slashes(std::string folder);

// The folder of "org/name" in the local cache; empty: there is none.
std::string hub_folder(FileSystem& files, const std::string& id);

}  // namespace diecast
