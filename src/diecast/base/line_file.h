// A text file that threads and processes add lines to, each with one write: whole lines of several
// writers do not mix, and what is there when one is killed stays.
#pragma once

#include <diecast/base/file.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

class LineFile {
 public:
  LineFile() = default;
  // Made where there is none. Errors: file_not_found (no such directory), file_exists (a pipe or
  // terminal is there, which has no places to write at), io_error.
  static Result<LineFile> open(FileSystem& files, const std::string& path);
  explicit operator bool() const { return static_cast<bool>(file_); }

  // At most so many bytes of its begin; empty of what is no regular file.
  std::string begin(std::size_t most) const;
  // At the end; a line there that a full disk or a killed writer cut short is ended first. Errors:
  // io_error.
  Result<void> add(std::string_view line) const;

 private:
  struct End {
    std::uint64_t bytes;
    bool is_cut_short;
  };
  Result<End> end() const;

  FileSystem* files_ = nullptr;
  std::string path_;
  Descriptor file_;
};

}  // namespace diecast
