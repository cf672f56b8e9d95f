// Shared libraries through dlopen, from files and from memory.
#include <diecast/base/build_id.h>
#include <diecast/base/file.h>
#include <diecast/base/library.h>
#include <diecast/base/text.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace diecast {
namespace {

// Without the path in front, which the error names anyway; a library that it needs stays named.
std::string loader_text(std::string_view path) {
  const char* const given = dlerror();
  std::string text = given ? given : "the loader gives no reason";
  if (text.starts_with(cat(path, ": "))) text.erase(0, path.size() + 2);
  return text;
}

// The errno of a loader that had no descriptor left, negative, else 0: it says so in words alone,
// and the library is not at fault.
int lack_of_descriptors(std::string_view reason) {
  for (const int code : {EMFILE, ENFILE})
    if (reason.find(errno_text(code)) != reason.npos) return -code;
  return 0;
}

Result<void*> open_handle(const std::string& path, int flags) {
  // A path with a null byte inside would silently open another file.
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_argument, cat("not a library path: ", quote(path)),
                 "give an absolute path, or a file name such as libcuda.so.1"};
  if (void* handle = dlopen(path.c_str(), flags)) return handle;
  const std::string reason = loader_text(path);
  if (const int lack = lack_of_descriptors(reason); lack < 0)
    return file_error("open the library", path, lack);
  return Error{ErrorCode::file_not_found,
               cat("cannot open the library ", quote(path), ": ", reason),
               "give the path of a shared library built for this machine, or name its folder in "
               "LD_LIBRARY_PATH"};
}

// Without MFD_EXEC newer kernels warn, or refuse where anonymous files are not executable by
// default; older kernels do not know the flag.
int anonymous_file(const std::string& label) {
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, Linux 6.3
  const int file = memfd_create(label.c_str(), MFD_CLOEXEC | kExecutable);
  return file >= 0 || errno != EINVAL ? file : memfd_create(label.c_str(), MFD_CLOEXEC);
}

// The loader takes two libraries of one path for the same, and descriptor numbers come back: every
// opening gets a spelling of its own. A process may hold several copies of this code, which count
// each for itself, so the counter's address is spelled before its value, both as bits: "/" and
// "/.". Under the process's number, where that is known here: a debugger would take "self" for
// itself, and a file of its own.
std::string unique_descriptor_path(int file) {
  static std::atomic<std::uint64_t> count = 0;
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self", none);
  std::string path = cat("/proc/", none ? "self" : own.string(), "/fd");
  for (const std::uint64_t number :
       {std::uint64_t{reinterpret_cast<std::uintptr_t>(&count)}, ++count})
    for (int bit = 0; bit < 64; ++bit) path += (number >> bit & 1) ? "/." : "/";
  return cat(path, '/', file);
}

// Whether every segment lies inside the bytes: the loader maps what a cut library promises, and
// touching pages beyond the end of a file ends the process.
bool segments_fit(ByteSpan bytes) {
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const std::size_t from = i * sizeof segment;
    if (header.e_phoff > bytes.size() || bytes.size() - header.e_phoff < from + sizeof segment)
      return false;
    std::memcpy(&segment, bytes.data() + header.e_phoff + from, sizeof segment);
    if (segment.p_filesz > bytes.size() || segment.p_offset > bytes.size() - segment.p_filesz)
      return false;
  }
  return true;
}

// What the loader keeps of a library: the name that it knows it by, and where its dynamic section
// is, by which dl_iterate_phdr tells it from others.
struct LoaderEntry {
  std::string name;
  ElfW(Addr) dynamic_section;
};

// The one place that reads the loader's own memory, which a lock of the loader's guards that
// ThreadSanitizer does not see (tests/tsan.supp names this function).
std::optional<LoaderEntry> loader_entry(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return std::nullopt;
  return LoaderEntry{map->l_name, reinterpret_cast<ElfW(Addr)>(map->l_ld)};
}

struct BuildIdSearch {
  ElfW(Addr) dynamic_section;
  std::string build_id;
};

int search_build_id(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  const auto address = [&](const ElfW(Phdr) & segment) {
    return info->dlpi_addr + segment.p_vaddr;
  };
  const std::span segments(info->dlpi_phdr, info->dlpi_phnum);
  bool mine = false;
  for (const auto& segment : segments)
    mine |= segment.p_type == PT_DYNAMIC && address(segment) == search.dynamic_section;
  if (!mine) return 0;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_NOTE || !search.build_id.empty()) continue;
    const auto* notes = reinterpret_cast<const std::byte*>(address(segment));
    search.build_id = build_id_in_notes({notes, segment.p_memsz}, segment.p_align);
  }
  return 1;
}

// What this process lacks to map any code from the file, an errno; 0: nothing.
int why_code_is_not_mapped(const std::string& path, std::size_t bytes) {
  const Descriptor file(system_files(), ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.number(), 0);
  if (at == MAP_FAILED) return errno;
  ::munmap(at, bytes);
  return 0;
}

// A library takes a few mappings, and a process has no more than vm.max_map_count: how many it has,
// where no library fits in any more; else 0. It allocates nothing, for there may be nothing left.
std::size_t mappings_if_all_are_taken() {
  constexpr std::size_t kOfALibrary = 16;
  const auto each_byte = [](const char* path, const auto& take) {
    const Descriptor file(system_files(), ::open(path, O_RDONLY | O_CLOEXEC));
    char bytes[4096];
    for (ssize_t count; file && (count = ::read(file.number(), bytes, sizeof bytes)) > 0;)
      for (ssize_t i = 0; i < count; ++i) take(bytes[i]);
  };
  std::size_t most = 0, mappings = 0;
  each_byte("/proc/sys/vm/max_map_count", [&](char c) {
    if (c >= '0' && c <= '9') most = 10 * most + static_cast<std::size_t>(c - '0');
  });
  each_byte("/proc/self/maps", [&](char c) { mappings += c == '\n'; });
  return most != 0 && mappings + kOfALibrary >= most ? mappings : 0;
}

}  // namespace

Library::Library(void* handle, bool in_memory)
    : handle_(handle, [](void* library) { dlclose(library); }), in_memory_(in_memory) {}

Result<Library> Library::open(const std::string& path) {
  DIECAST_TRY(void* handle, open_handle(path, RTLD_NOW | RTLD_LOCAL));
  return Library(handle, false);
}

Result<Library> Library::already_loaded(const std::string& soname) {
  DIECAST_TRY(void* handle, open_handle(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD));
  return Library(handle, false);
}

Result<Library> Library::open_bytes(ByteSpan bytes, const std::string& label) {
  const auto rejected = [&](const std::string& reason) {
    return Error{ErrorCode::file_corrupt, cat("cannot load ", quote(label), ": ", reason),
                 "compile it again for this machine"};
  };
  if (!segments_fit(bytes)) return rejected("not a whole shared library");
  const int number = anonymous_file(label.substr(0, 200));
  const int failure = number < 0 ? errno : 0;
  if (lacks_descriptors(failure)) return file_error("load", label, -failure);
  if (number < 0)
    return Error{ErrorCode::io_error,
                 cat("cannot make an anonymous file for ", quote(label), ": ", errno_text(failure)),
                 "allow memfd_create with executable content (sysctl vm.memfd_noexec=0)"};
  Descriptor file(system_files(), number);
  if (const int failed = write_exactly(system_files(), number, bytes.data(), bytes.size(), 0);
      failed < 0)
    return file_error("write", cat("the anonymous file for ", label), failed);
  const std::string path = unique_descriptor_path(number);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle) {
    Library out(handle, true);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.find(".debug_line") == text.npos) return out;
    // Debuggers read the file while the code is loaded.
    const auto kept = std::make_shared<std::pair<std::shared_ptr<void>, Descriptor>>(
        out.handle_, std::move(file));
    out.handle_ = std::shared_ptr<void>(kept, handle);
    return out;
  }
  const std::string reason = loader_text(path);
  if (const int lack = lack_of_descriptors(reason); lack < 0)
    return file_error("load", label, lack);
  if (const std::size_t mappings = mappings_if_all_are_taken(); mappings != 0)
    return Error{ErrorCode::out_of_memory,
                 cat("cannot load ", quote(label), ": this process has ", mappings,
                     " mappings of memory, and the system allows hardly more"),
                 "keep runtimes, devices and kernels from call to call instead of opening them "
                 "anew, or raise sysctl vm.max_map_count"};
  const int refused = why_code_is_not_mapped(path, bytes.size());
  if (refused == 0) return rejected(reason);
  if (refused == ENOMEM)
    return Error{ErrorCode::out_of_memory, cat("cannot load ", quote(label), ": ", reason),
                 "free memory, or raise the limit of it (ulimit -v)"};
  return Error{ErrorCode::io_error,
               cat("cannot load ", quote(label), ": ", reason, ": ", errno_text(refused)),
               "let this process open files of its own by /proc/self/fd and map them as code"};
}

// The loader's own mark, by the name that it knows the library by: a list of ours would need a
// lock, which a fork may find taken.
void Library::keep_loaded() const {
  if (const auto entry = loader_entry(handle_.get()))
    (void)dlopen(entry->name.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void* Library::symbol(const char* name) const { return dlsym(handle_.get(), name); }

std::string Library::path() const {
  const auto entry = loader_entry(handle_.get());
  if (in_memory_ || !entry) return {};
  const std::unique_ptr<char, void (*)(void*)> resolved(realpath(entry->name.c_str(), nullptr),
                                                        std::free);
  return resolved ? resolved.get() : "";
}

std::string Library::build_id() const {
  const auto entry = loader_entry(handle_.get());
  if (!entry) return {};
  BuildIdSearch search{entry->dynamic_section, {}};
  dl_iterate_phdr(search_build_id, &search);
  return search.build_id;
}

void add_folder(std::vector<std::string>& folders, const std::string& folder) {
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
}

std::vector<std::string> named_toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string toolkit = environment_variable(name);
    if (toolkit.starts_with('/')) add_folder(folders, toolkit + "/lib64");
  }
  return folders;
}

}  // namespace diecast
