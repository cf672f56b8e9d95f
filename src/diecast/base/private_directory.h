// A folder of one's own below $TMPDIR (else /tmp), for what another program wants as files. It goes
// with everything in it, whatever that program did or however it ended; of a process that is killed
// it stays, and goes when the next one is made after an hour.
#pragma once

#include <diecast/base/file.h>

#include <string>
#include <string_view>

namespace diecast {

class PrivateDirectory {
 public:
  // Nobody else can enter it. Errors: io_error and the like, with the path.
  static Result<PrivateDirectory> make();
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
  Descriptor lock_;
};

// What went wrong with a file in one: another TMPDIR mends it.
Error temporary_error(std::string_view doing, const std::string& path, int negative_errno);

}  // namespace diecast
