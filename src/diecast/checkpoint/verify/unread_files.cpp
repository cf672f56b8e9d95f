// The folder's list against the checkpoint's; see unread_files.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/side_files.h>
#include <diecast/checkpoint/verify/unread_files.h>
#include <fcntl.h>

#include <algorithm>

namespace diecast {

Result<std::vector<std::string>> unread_files(const Checkpoint& checkpoint, FileSystem& files) {
  const std::string path = checkpoint.folder() + "/";
  const Descriptor folder(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!folder) return file_error("open", path, folder.number());
  std::vector<std::string> unread;
  const int listed = files.list_directory(folder.number(), [&](std::string_view name) {
    const bool known = std::ranges::find(checkpoint.names(), name) != checkpoint.names().end();
    const bool weights = name.ends_with(".safetensors") && !name.starts_with('.');
    if (weights && !known && !is_draft_file(name)) unread.push_back(quote(name));
    return true;
  });
  if (listed < 0) return file_error("list", path, listed);
  if (unread.empty()) return std::vector<std::string>();
  std::ranges::sort(unread);
  return std::vector{
      cat("engines do not read ", join(unread, ", "), ", which the checkpoint does not name")};
}

}  // namespace diecast
