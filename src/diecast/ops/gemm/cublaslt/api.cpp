// Finding libcublasLt and its functions; see api.h.
#include <diecast/base/fork.h>
#include <diecast/base/text.h>
#include <diecast/launch/driver.h>
#include <diecast/ops/gemm/cublaslt/api.h>

#include <mutex>

namespace diecast::cublaslt {
namespace {

constexpr const char* kVariable = "DIECAST_CUBLASLT";
constexpr const char* kUsualFolder = "/usr/local/cuda/lib64";
constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr const char* kMend =
    "install CUDA 12.8 or newer, or set DIECAST_CUBLASLT to the path of its libcublasLt.so";

Result<std::shared_ptr<const Api>> bind(Library library) {
  auto api = std::make_shared<Api>(Api{std::move(library), {}, 0});
  std::string lacking;
#define DIECAST_CUBLASLT_FUNCTION(name, result, parameters)         \
  api->call.name = api->library.function<result parameters>(#name); \
  if (api->call.name == nullptr && lacking.empty()) lacking = #name;
  DIECAST_CUBLASLT_FUNCTIONS(DIECAST_CUBLASLT_FUNCTION)
#undef DIECAST_CUBLASLT_FUNCTION
  if (!lacking.empty()) {
    return Error{ErrorCode::not_supported, cat(api->library.path(), " has no ", lacking), kMend};
  }
  api->version = api->call.cublasLtGetVersion();
  if (api->version >= first_version) return std::shared_ptr<const Api>(std::move(api));
  return Error{ErrorCode::not_supported,
               cat(api->library.path(), " is version ", api->version, "; NVFP4 products came with ",
                   first_version),
               kMend};
}

Result<Library> find_library() {
  for (const char* name : kNames) {
    if (auto present = Library::already_loaded(name)) return present;
  }
  for (const char* name : kNames) {
    if (auto opened = Library::open(name)) return opened;
  }
  std::vector<std::string> folders = named_toolkit_folders();
  add_folder(folders, kUsualFolder);
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      if (auto opened = Library::open(cat(folder, "/", name))) return opened;
    }
  }
  return Error{ErrorCode::file_not_found,
               cat("no cuBLASLt: neither ", kNames[0], " nor ", kNames[1],
                   " is loaded, in the loader's search, or in ", join(folders, ", ")),
               kMend};
}

}  // namespace

std::string Api::description() const {
  return cat("cuBLASLt ", version / 10000, ".", version / 100 % 100, ".", version % 100, " (",
             library.path(), ")");
}

Result<void> Api::done(std::string_view function, Status status) const {
  if (status == success) return {};
  return Error{ErrorCode::driver_error,
               cat(function, " gave ", call.cublasLtGetStatusName(status), " (", status, ")"),
               "run with CUBLASLT_LOG_LEVEL=2 to see cuBLASLt's own account"};
}

Result<std::shared_ptr<const Api>> open_api(const std::string& path) {
  DIECAST_TRY(Library library, path.empty() ? find_library() : Library::open(path));
  return bind(std::move(library));
}

Result<std::shared_ptr<const Api>> shared_api() {
  DIECAST_CHECK(Driver::usable());
  using Opened = Result<std::shared_ptr<const Api>>;
  struct Known {
    std::string path;
    Opened api;
    const Known* before;
  };
  static LongMutex mutex;               // held while a library is opened
  static const Known* known = nullptr;  // each whole before it is there, and never ended
  const std::string path = environment_variable(kVariable);
  const std::lock_guard lock(mutex);
  for (const Known* one = known; one != nullptr; one = one->before)
    if (one->path == path) return one->api;
  Opened api = open_api(path);
  if (!api && !path.empty() && api.error().code == ErrorCode::file_not_found) {
    Error error = std::move(api).error();
    error.fix = kMend;
    api = std::move(error);
  }
  known = new Known{path, std::move(api), known};
  return known->api;
}

}  // namespace diecast::cublaslt
