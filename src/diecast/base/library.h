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
  // `path` as dlopen takes it: an absolute path, or a soname for the loader's own search. Opened
  // RTLD_NOW | RTLD_LOCAL. Errors: file_not_found with the loader's text, io_error (no descriptor
  // is left).
  static Result<Library> open(const std::string& path);
  // The same of a library that is in this process already; never loads anything.
  static Result<Library> already_loaded(const std::string& soname);
  // From memory: an anonymous file, so nothing on disk can be swapped before it is mapped. `label`
  // is what debuggers and profilers show. Errors: io_error (no anonymous file, or no
  // descriptor is left), file_corrupt (the loader rejects the bytes).
  static Result<Library> open_bytes(ByteSpan bytes, const std::string& label);

  // From here on it stays loaded until the process ends. Not for open_bytes.
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

// Appends a folder unless it is there.
void add_folder(std::vector<std::string>& folders, const std::string& folder);

// Folders of libraries of the CUDA toolkits that CUDA_HOME and CUDA_PATH name, where those are
// absolute.
std::vector<std::string> named_toolkit_folders();

// The build id of a shared object file on disk, without loading it; empty if it has none.
std::string build_id_of_file(const std::string& path);

}  // namespace diecast
