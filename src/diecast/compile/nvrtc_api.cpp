// Binding a libnvrtc: functions, version, architectures and the builds of its two files.
#include <diecast/base/build_id.h>
#include <diecast/base/file.h>
#include <diecast/base/hash.h>
#include <diecast/base/text.h>
#include <diecast/compile/nvrtc_api.h>
#include <fcntl.h>

namespace diecast::nvrtc {
namespace {

// Older ones take no operand of assembly that is written early ("=&r"), as templates have.
constexpr int kOldestMajor = 12, kOldestMinor = 1;

Error unusable(const std::string& path, std::string_view what) {
  return {ErrorCode::compiler_unavailable, cat(path, ": ", what),
          "install NVRTC 12.1 or later with both its libraries in one folder, and name libnvrtc "
          "in DIECAST_NVRTC"};
}

Result<Functions> find_functions(const Library& library, const std::string& path) {
  Functions call;
#define DIECAST_NVRTC_FUNCTION(name, result, parameters)                           \
  call.name = library.function<std::remove_pointer_t<decltype(call.name)>>(#name); \
  if (call.name == nullptr) return unusable(path, "not NVRTC: it has no " #name);
  DIECAST_NVRTC_FUNCTIONS(DIECAST_NVRTC_FUNCTION)
#undef DIECAST_NVRTC_FUNCTION
  return call;
}

// Libraries older than 12.9 carry no build id; then the file's length and its first 64 KiB stand
// for it: they hold the symbol table's addresses, which move with any change of the code.
// Errors: io_error (no descriptor is left).
Result<std::string> build_of(const std::string& path, std::string build_id) {
  constexpr std::size_t kSample = 64u << 10;
  const std::string unread = "00000000";
  if (build_id.size() >= 8) return build_id.substr(0, 8);
  FileSystem& files = system_files();
  const Descriptor file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY, 0));
  if (lacks_descriptors(-file.number())) return file_error("read", path, file.number());
  struct stat status {};
  if (!file || files.status(file.number(), &status) < 0) return unread;
  Bytes sample(std::min<std::size_t>(kSample, static_cast<std::size_t>(status.st_size)));
  if (read_exactly(files, file.number(), sample.data(), sample.size(), 0) < 0) return unread;
  Record record;
  record.add(1, static_cast<std::uint64_t>(status.st_size)).add(2, sample);
  return record.digest().hex().substr(0, 8);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool is_file(const std::string& path) {
  struct stat status {};
  return system_files().status_at(AT_FDCWD, path.c_str(), &status, 0) >= 0 &&
         S_ISREG(status.st_mode);
}

Result<std::vector<int>> supported_archs(const Functions& call, const std::string& path) {
  constexpr int kMost = 4096;
  int count = 0;
  if (call.nvrtcGetNumSupportedArchs(&count) != kSuccess || count <= 0 || count > kMost)
    return unusable(path, "it does not name the architectures it builds for");
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (call.nvrtcGetSupportedArchs(archs.data()) != kSuccess)
    return unusable(path, "it does not name the architectures it builds for");
  return archs;
}

}  // namespace

std::string Api::version() const { return cat(major, '.', minor); }

std::string Api::status_text(Status status) const {
  const char* text = call.nvrtcGetErrorString(status);
  return cat(text ? text : "unknown result", " (", static_cast<unsigned>(status), ")");
}

Result<Api> bind(Library library) {
  Api api{std::move(library), {}, {}, 0, 0, {}, {}};
  api.path = api.library.path();
  DIECAST_TRY(api.call, find_functions(api.library, api.path));
  if (api.call.nvrtcVersion(&api.major, &api.minor) != kSuccess || api.major <= 0 || api.minor < 0)
    return unusable(api.path, "it does not tell its version");
  if (api.major < kOldestMajor || (api.major == kOldestMajor && api.minor < kOldestMinor))
    return unusable(api.path, cat("NVRTC ", api.version(), " is too old: ", kOldestMajor, '.',
                                  kOldestMinor, " or later is needed"));
  const std::string builtins = cat("libnvrtc-builtins.so.", api.version());
  const std::string beside = cat(folder_of(api.path), "/", builtins);
  if (!is_file(beside)) return unusable(api.path, cat(builtins, " is not beside it"));
  DIECAST_TRY(api.archs, supported_archs(api.call, api.path));
  DIECAST_TRY(const std::string own, build_of(api.path, api.library.build_id()));
  DIECAST_TRY(const std::string others, build_of(beside, build_id_of_file(beside)));
  api.build = cat(own, "-", others);
  return api;
}

}  // namespace diecast::nvrtc
