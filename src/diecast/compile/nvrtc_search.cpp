// Where libnvrtc may be, and opening the first that works. A program running with more rights than
// its user (set-user-id) takes no path from that user's environment.
#include <diecast/base/text.h>
#include <diecast/compile/nvrtc.h>
#include <diecast/compile/nvrtc_api.h>

#include <algorithm>
#include <filesystem>

namespace diecast {
namespace {

namespace fs = std::filesystem;

// The wheels nvidia-cuda-nvrtc (13) and nvidia-cuda-nvrtc-cu12 under one environment of Python.
void add_wheels(const std::string& environment, std::vector<std::string>& directories) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(environment) / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().substr(0, 6) != "python") continue;
    for (const char* folder : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
      found.push_back((it->path() / "site-packages" / folder).string());
  }
  std::sort(found.begin(), found.end());  // directories come in no order
  directories.insert(directories.end(), found.begin(), found.end());
}

// Opens and binds one candidate; what is wrong with it becomes a line of `tried`. Errors: io_error,
// where no descriptor is left: no candidate is at fault then.
Result<std::optional<nvrtc::Api>> try_one(const std::string& place, Result<Library> library,
                                          std::vector<std::string>& tried) {
  Result<nvrtc::Api> api = library ? nvrtc::bind(std::move(*library)) : library.error();
  if (api) {
    // Each unloading leaks the C++ runtime inside it, and it may have threads of its own.
    api->library.keep_loaded();
    return std::optional(std::move(*api));
  }
  if (api.error().code == ErrorCode::io_error) return api.error();
  tried.push_back(cat(library ? cat(place, ": ") : "", api.error().what));
  return std::optional<nvrtc::Api>();
}

}  // namespace

NvrtcSearch NvrtcSearch::from_environment() {
  NvrtcSearch search;
  search.path = environment_variable("DIECAST_NVRTC");
  search.directories = named_toolkit_folders();
  if (const std::string environment = environment_variable("VIRTUAL_ENV");
      environment.substr(0, 1) == "/")
    add_wheels(environment, search.directories);
  for (const char* directory : {"/usr/local/cuda/lib64", "/opt/cuda/lib64"})
    add_folder(search.directories, directory);
  return search;
}

namespace nvrtc {

Result<Api> find(const NvrtcSearch& search) {
  std::vector<std::string> tried;
  if (!search.path.empty()) {
    DIECAST_TRY(auto api, try_one(search.path, Library::open(search.path), tried));
    if (api) return *std::move(api);
    return Error{ErrorCode::compiler_unavailable,
                 cat("the NVRTC that was asked for cannot be used\n", join(tried, "\n")),
                 "correct DIECAST_NVRTC, or unset it to search the usual places"};
  }
  for (const std::string& name : search.names)
    if (auto library = Library::already_loaded(name)) {
      DIECAST_TRY(auto api, try_one(cat(name, " in this process"), std::move(library), tried));
      if (api) return *std::move(api);
    }
  for (const std::string& name : search.names) {
    DIECAST_TRY(auto api, try_one(name, Library::open(name), tried));
    if (api) return *std::move(api);
  }
  for (const std::string& directory : search.directories)
    for (const std::string& name : search.names) {
      const std::string path = cat(directory, "/", name);
      std::error_code error;
      if (!fs::exists(path, error)) {
        tried.push_back(cat(path, ": no such file"));
        continue;
      }
      DIECAST_TRY(auto api, try_one(path, Library::open(path), tried));
      if (api) return *std::move(api);
    }
  return Error{
      ErrorCode::compiler_unavailable,
      cat("no usable NVRTC (12.1 or later) was found\n", join(tried, "\n")),
      "install it (`pip install nvidia-cuda-nvrtc` or a CUDA toolkit) and name libnvrtc.so "
      "in DIECAST_NVRTC"};
}

}  // namespace nvrtc
}  // namespace diecast
