// Adding lines; see line_file.h.
#include <diecast/base/line_file.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace diecast {

Result<LineFile> LineFile::open(FileSystem& files, const std::string& path) {
  LineFile out;
  const int file = files.open_at(AT_FDCWD, path.c_str(), O_RDWR | O_APPEND | O_CREAT, 0644);
  if (file < 0) return file_error("write", path, file);
  out.files_ = &files;
  out.path_ = path;
  out.file_ = Descriptor(files, file);
  char byte;
  if (files.read_at(file, &byte, 0, 0) != -ESPIPE) return out;
  return Error{ErrorCode::file_exists,
               cat("cannot add lines to ", quote(path, 1000), ": it is a pipe or a terminal"),
               "give the path of a new or regular file"};
}

std::string LineFile::begin(std::size_t most) const {
  struct stat status = {};
  if (files_->status(file_.number(), &status) < 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(most, '\0');
  const ssize_t size = files_->read_at(file_.number(), text.data(), most, 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

// Where the file ends, and whether its last line is cut short: what has no end yet and grows no
// further. A writer in the middle of a line has moved on after a moment.
Result<LineFile::End> LineFile::end() const {
  constexpr std::chrono::milliseconds kMoment{10};
  for (std::uint64_t seen = 0;;) {
    struct stat status = {};
    int result = files_->status(file_.number(), &status);
    const auto end = static_cast<std::uint64_t>(status.st_size);
    char last = '\n';
    if (result >= 0 && end > 0) result = read_exactly(*files_, file_.number(), &last, 1, end - 1);
    if (result < 0) return file_error("write", path_, result);
    if (last == '\n' || end == seen) return End{end, last != '\n'};
    seen = end;
    std::this_thread::sleep_for(kMoment);
  }
}

// O_APPEND says where it goes; the offset is what the limit of file sizes is asked about.
Result<void> LineFile::add(std::string_view line) const {
  DIECAST_TRY(const End at, end());
  const std::string text = cat(at.is_cut_short ? "\n" : "", line, "\n");
  const int result = write_exactly(*files_, file_.number(), text.data(), text.size(), at.bytes);
  if (result < 0) return file_error("write", path_, result);
  return {};
}

}  // namespace diecast
