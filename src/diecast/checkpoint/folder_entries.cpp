// Listing and asking; see folder_entries.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/folder_entries.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace diecast {
namespace {

bool leads_nowhere(int status) {
  return status == -ENOENT || status == -ENOTDIR || status == -ELOOP;
}

Result<std::optional<FolderEntry>> entry_at(const std::string& path, std::string name,
                                            FileSystem& files) {
  struct stat status, itself;
  const std::string full = path + name;
  const int found = files.status_at(AT_FDCWD, full.c_str(), &status, 0);
  if (leads_nowhere(found)) return std::optional<FolderEntry>();
  if (found < 0) return file_error("read", full, found);
  const bool folder = S_ISDIR(status.st_mode);
  if (!folder && !S_ISREG(status.st_mode)) return std::optional<FolderEntry>();
  const int known = files.status_at(AT_FDCWD, full.c_str(), &itself, AT_SYMLINK_NOFOLLOW);
  if (known < 0) return file_error("read", full, known);
  return std::optional(FolderEntry{std::move(name), folder, S_ISLNK(itself.st_mode),
                                   status.st_mode & 0777u,
                                   static_cast<std::uint64_t>(status.st_size)});
}

}  // namespace

Result<std::vector<FolderEntry>> folder_entries(const std::string& path, FileSystem& files) {
  const Descriptor folder(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!folder) return file_error("open", path, folder.number());
  std::vector<std::string> names;
  const int listed = files.list_directory(folder.number(), [&](std::string_view name) {
    if (!name.starts_with('.')) names.emplace_back(name);
    return true;
  });
  if (listed < 0) return file_error("list", path, listed);
  std::ranges::sort(names);
  std::vector<FolderEntry> out;
  for (std::string& name : names) {
    DIECAST_TRY(std::optional<FolderEntry> entry, entry_at(path, std::move(name), files));
    if (entry) out.push_back(*std::move(entry));
  }
  return out;
}

Result<std::vector<FolderEntry>> files_below(const std::string& path, FileSystem& files) {
  std::vector<FolderEntry> out;
  std::vector<std::string> folders = {""};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string at = folders[i];
    DIECAST_TRY(std::vector<FolderEntry> entries, folder_entries(path + at, files));
    for (FolderEntry& entry : entries) {
      entry.name = at + entry.name;
      if (!entry.folder)
        out.push_back(std::move(entry));
      else if (!entry.link)
        folders.push_back(entry.name + "/");
    }
  }
  return out;
}

}  // namespace diecast
