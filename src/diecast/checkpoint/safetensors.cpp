// Opening and reading; every number of the header has been checked by then.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors.h>
#include <fcntl.h>

namespace diecast {
namespace {

Error changed(std::string_view path) {
  return {ErrorCode::io_error, cat(quote(path, 1000), " changed while it was read"),
          "run again when nothing writes to the file"};
}

}  // namespace

Result<SafetensorsReader> SafetensorsReader::open(const std::string& path, bool strict,
                                                  FileSystem& files) {
  SafetensorsReader reader;
  reader.files_ = &files;
  reader.path_ = path;
  // Without O_NONBLOCK a FIFO would wait for its writer.
  const int file = files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (file < 0) return file_error("open", path, file);
  reader.file_ = Descriptor(files, file);
  if (const int result = files.status(file, &reader.opened_); result < 0) {
    return file_error("read", path, result);
  }
  if (!S_ISREG(reader.opened_.st_mode)) {
    return Error{ErrorCode::io_error,
                 cat(quote(path, 1000), S_ISDIR(reader.opened_.st_mode) ? " is a directory"
                                                                        : " is not a regular file"),
                 "give the path of a .safetensors file"};
  }
  const auto file_bytes = static_cast<std::uint64_t>(reader.opened_.st_size);
  unsigned char prefix[8] = {};
  if (file_bytes >= sizeof prefix) {
    if (const int result = read_exactly(files, file, prefix, sizeof prefix, 0); result < 0) {
      return file_error("read", path, result);
    }
  }
  DIECAST_TRY(const std::uint64_t length, header_length(prefix, file_bytes, path));
  std::string json(length, '\0');
  if (const int result = read_exactly(files, file, json.data(), length, sizeof prefix);
      result < 0) {
    return file_error("read", path, result);
  }
  DIECAST_TRY(reader.header_, parse_header(json, file_bytes, path, strict));
  return reader;
}

Result<void> SafetensorsReader::read(const TensorInfo& tensor, std::uint64_t offset,
                                     std::span<std::byte> out) const {
  if (offset > tensor.bytes() || out.size() > tensor.bytes() - offset) {
    return Error{ErrorCode::invalid_argument,
                 cat("bytes ", offset, " to ", offset + out.size(), " of tensor ",
                     quote(tensor.name), " were asked for, it has ", tensor.bytes()),
                 "read inside the tensor"};
  }
  const int result = read_exactly(*files_, file_.number(), out.data(), out.size(),
                                  header_.data_begin + tensor.begin + offset);
  if (result >= 0) return {};
  DIECAST_CHECK(unchanged());
  return file_error(cat("read tensor ", quote(tensor.name), " of"), path_, result);
}

Result<void> SafetensorsReader::unchanged() const {
  struct stat now = {};
  if (const int result = files_->status(file_.number(), &now); result < 0) {
    return file_error("read", path_, result);
  }
  const bool same = now.st_size == opened_.st_size &&
                    now.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec;
  if (!same) return changed(path_);
  return {};
}

bool SafetensorsReader::is(const struct stat& other) const {
  return other.st_dev == opened_.st_dev && other.st_ino == opened_.st_ino;
}

}  // namespace diecast
