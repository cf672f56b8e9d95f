// Reading the dynamic section of an ELF file; see needed_libraries.h. Every place is read by itself
// and a read beyond the file's end is the end of the list: the file may be any.
#include <diecast/base/file.h>
#include <diecast/base/machine.h>
#include <diecast/base/needed_libraries.h>
#include <diecast/base/text.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace diecast {
namespace {

class DynamicSection {
 public:
  explicit DynamicSection(const std::string& path)
      : file_(system_files(), system_files().open_at(AT_FDCWD, path.c_str(), O_RDONLY, 0)) {
    ElfW(Ehdr) header;
    if (!file_ || !read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
      return;
    segments_.resize(header.e_phnum);
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (!read(segments_[i], header.e_phoff + i * sizeof segments_[i])) return;
    for (const auto& segment : segments_)
      if (segment.p_type == PT_DYNAMIC) read_entries(segment);
  }

  // The texts of all entries of a kind.
  std::vector<std::string> texts(ElfW(Sxword) kind) const {
    std::vector<std::string> out;
    for (const auto& entry : entries_)
      if (entry.d_tag == kind) out.push_back(text(entry.d_un.d_val));
    return out;
  }

 private:
  static constexpr std::size_t kMostEntries = 4096;

  template <class T>
  bool read(T& out, std::uint64_t offset) const {
    return read_exactly(system_files(), file_.number(), &out, sizeof out, offset) >= 0;
  }

  void read_entries(const ElfW(Phdr) & segment) {
    entries_.resize(std::min<std::size_t>(segment.p_filesz / sizeof(ElfW(Dyn)), kMostEntries));
    const std::size_t bytes = entries_.size() * sizeof(ElfW(Dyn));
    if (read_exactly(system_files(), file_.number(), entries_.data(), bytes, segment.p_offset) < 0)
      return entries_.clear();
    entries_.erase(std::ranges::find(entries_, DT_NULL, &ElfW(Dyn)::d_tag), entries_.end());
    for (const auto& entry : entries_)
      if (entry.d_tag == DT_STRTAB) strings_ = offset_of(entry.d_un.d_ptr);
  }
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const auto& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return 0;
  }
  std::string text(std::uint64_t place) const {
    std::array<char, 256> bytes;  // longer than the name of any library
    const auto count =
        system_files().read_at(file_.number(), bytes.data(), bytes.size(), strings_ + place);
    if (count <= 0) return {};
    const std::string_view read(bytes.data(), static_cast<std::size_t>(count));
    return std::string(read.substr(0, read.find('\0')));
  }

  const Descriptor file_;
  std::vector<ElfW(Phdr)> segments_;
  std::vector<ElfW(Dyn)> entries_;
  std::uint64_t strings_ = 0;
};

void add_list(std::vector<std::string>& folders, std::string_view list, const std::string& origin) {
  for (const std::string_view each : split(list, ':')) {
    std::string folder(each);
    for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"})
      if (folder.starts_with(name)) folder = origin + folder.substr(name.size());
    if (folder.starts_with('/')) folders.push_back(std::move(folder));
  }
}

std::vector<std::string> folders_of(const DynamicSection& section, const std::string& path) {
  std::error_code error;
  const std::string origin = std::filesystem::canonical(path, error).parent_path().string();
  std::vector<std::string> folders;
  for (const auto& list : section.texts(DT_RPATH)) add_list(folders, list, origin);
  add_list(folders, environment_variable("LD_LIBRARY_PATH"), origin);
  for (const auto& list : section.texts(DT_RUNPATH)) add_list(folders, list, origin);
  const std::string machine = cat("/", kMachine, "-linux-gnu");
  for (const std::string& folder :
       {"/lib" + machine, "/usr/lib" + machine, std::string("/lib64"), std::string("/usr/lib64"),
        std::string("/lib"), std::string("/usr/lib"), std::string("/usr/local/lib")})
    folders.push_back(folder);
  return folders;
}

}  // namespace

std::vector<NeededLibrary> needed_libraries(const std::string& path) {
  const DynamicSection section(path);
  std::vector<NeededLibrary> out;
  const std::vector<std::string> names = section.texts(DT_NEEDED);
  if (names.empty()) return out;
  const std::vector<std::string> folders = folders_of(section, path);
  for (const std::string& name : names) {
    std::string found = name.find('/') == name.npos ? std::string() : name;
    for (const std::string& folder : folders)
      if (found.empty() && ::access(cat(folder, "/", name).c_str(), R_OK) == 0)
        found = cat(folder, "/", name);
    out.push_back({name, std::move(found)});
  }
  return out;
}

}  // namespace diecast
