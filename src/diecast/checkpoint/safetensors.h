// Reading a safetensors file without trusting it: the header is checked before anything is read by
// it, and data comes in pieces by pread. Never mmap: a file cut short while open would end the
// program with SIGBUS.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

namespace diecast {

class SafetensorsReader {
 public:
  // With `strict` unknown header fields are errors. Errors: file_not_found, io_error (also for what
  // is no regular file), file_corrupt.
  static Result<SafetensorsReader> open(const std::string& path, bool strict = false,
                                        FileSystem& files = system_files());

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return path_; }

  // Bytes [offset, offset + out.size()) of a tensor of header(). Errors: io_error, also when the
  // file became shorter than its header says; invalid_argument past the tensor's end.
  Result<void> read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const;

  // Size and time of change as they were at open(): what was read is one state of the file.
  // Errors: io_error.
  Result<void> unchanged() const;

  // Whether this status is of the very file that is open here, under whatever name.
  bool is(const struct stat& other) const;

  // Who may read and write the file, as at open().
  mode_t mode() const { return opened_.st_mode & 07777; }

 private:
  SafetensorsReader() = default;
  FileSystem* files_ = nullptr;
  Descriptor file_;
  struct stat opened_ = {};
  std::string path_;
  SafetensorsHeader header_;
};

}  // namespace diecast
