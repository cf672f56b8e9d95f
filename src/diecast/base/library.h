// A shared library opened at run time (libcuda, libnvrtc, compiled host kernels). It stays loaded
// as long as any copy of the Library does.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>

#include <memory>
#include <string>
#include <vector>

namespace diecast {

class Library {
 public:
  // Opens a library with RTLD_NOW | RTLD_LOCAL. `path` is what dlopen takes: an absolute path, or a
  // soname for the loader's own search. Errors: file_not_found with the loader's text, io_error (no
  // descriptor is left).
  static Result<Library> open(const std::string& path);
  // Finds a library that this process has loaded already; it never loads one.
  static Result<Library> already_loaded(const std::string& soname);
  // Loads a library from memory, through an anonymous file, so that nothing on disk can be swapped
  // before it is mapped. Debuggers and profilers show `label`. Errors: io_error (no anonymous file,
  // or no descriptor is left), file_corrupt (the loader rejects the bytes).
  static Result<Library> open_bytes(ByteSpan bytes, const std::string& label);

  // Keeps the library loaded until the process ends. It must not come from open_bytes.
  void keep_loaded() const;

  void* symbol(const char* name) const;  // null if absent
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // The file it was loaded from, symbolic links resolved; empty for open_bytes.
  std::string path() const;
  // The GNU build id as lower-case hex; empty if the library has none.
  std::string build_id() const;

 private:
  Library(void* handle, bool in_memory);
  std::shared_ptr<void> handle_;
  bool in_memory_;
};

// Appends `folder` to `folders` unless it is there already.
void add_folder(std::vector<std::string>& folders, const std::string& folder);

// Returns the library folders of the CUDA toolkits that CUDA_HOME and CUDA_PATH name; a path that
// is not absolute is ignored.
std::vector<std::string> named_toolkit_folders();

}  // namespace diecast
