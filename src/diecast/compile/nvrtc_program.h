// One program of NVRTC, from its text to what is made of it. Not a public header.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/compile/nvrtc_api.h>
#include <diecast/template/source.h>

#include <string>
#include <vector>

namespace diecast::nvrtc {

// It destroys its handle itself. `api` must outlive it.
class OpenProgram {
 public:
  explicit OpenProgram(const Api& api) : api_(api) {}
  OpenProgram(const OpenProgram&) = delete;
  OpenProgram& operator=(const OpenProgram&) = delete;
  ~OpenProgram();

  Status create(const Source& source);
  Status compile(const std::vector<std::string>& options);
  // The same by a thread whose working directory is `/`, where the system lets it: NVRTC puts that
  // folder before the names of files in line info, which must not follow from where we are.
  Status compile_at_root(const std::vector<std::string>& options);
  // What NVRTC wrote; a log that cannot be had is empty, one beyond all measure is only named.
  std::string log() const;
  // What a compile made. Errors: internal (NVRTC names a size beyond all measure, or fails).
  Result<Bytes> cubin() const;
  Result<std::string> ptx() const;

 private:
  Error lost(std::string_view function, Status status) const;
  Error strange_size(std::string_view what, std::size_t size) const;

  const Api& api_;
  Program handle_ = nullptr;
};

}  // namespace diecast::nvrtc
