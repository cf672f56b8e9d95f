// Finding a checkpoint's files, and holding what its index says against what they have.
#include <diecast/base/text.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/find_checkpoint.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <set>

namespace diecast {
namespace {

Result<SafetensorsIndex> read_index(FileSystem& files, const std::string& path) {
  DIECAST_TRY(const Bytes text, read_file(files, path, kHeaderLimit));
  return parse_index(file_text(text), path);
}

// A file that an index names could not be opened.
Error of_index(Error error, const std::string& index) {
  if (error.code != ErrorCode::file_not_found) return error;
  error.what += cat("; the index ", quote(index, 1000), " names it");
  error.fix = "write or download that file too, beside the index";
  return error;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path, bool strict, FileSystem& files) {
  Checkpoint out;
  out.path_ = path;
  const std::size_t slash = path.rfind('/');
  std::string& folder = out.folder_;
  folder = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  std::string name = slash == path.npos ? path : path.substr(slash + 1);
  struct stat status = {};
  std::string inside = is_folder(files, path) ? path : "";
  if (files.status_at(AT_FDCWD, path.c_str(), &status, 0) == -ENOENT)
    inside = hub_folder(files, path);
  if (!inside.empty()) {
    DIECAST_TRY(CheckpointPlace place, find_checkpoint(inside, files));
    folder = std::move(place.folder);
    name = std::move(place.name);
    out.in_folder_ = true;
  }
  if (name.ends_with(".json")) {
    out.in_folder_ = true;
    out.index_name_ = name;
    DIECAST_CHECK(out.open_index(files, strict));
    return out;
  }
  const std::string file = out.in_folder_ ? cat(folder, "/", name) : path;
  DIECAST_TRY(SafetensorsReader reader, SafetensorsReader::open(file, strict, files));
  out.header_ = reader.header();
  out.names_.push_back(std::move(name));
  out.files_.push_back(std::move(reader));
  return out;
}

Result<void> Checkpoint::open_index(FileSystem& files, bool strict) {
  const std::string path = cat(folder_, "/", index_name_);
  DIECAST_TRY(index_, read_index(files, path));
  std::set<std::string> names;
  for (const auto& [tensor, name] : index_->files) names.insert(name);
  names_.assign(names.begin(), names.end());
  std::vector<SafetensorsHeader> headers;
  for (const std::string& name : names_) {
    auto reader = SafetensorsReader::open(cat(folder_, "/", name), strict, files);
    if (!reader) return of_index(reader.error(), path);
    headers.push_back(reader->header());
    files_.push_back(std::move(*reader));
  }
  DIECAST_TRY(header_, CheckpointHeader::joined(std::move(headers), names_));
  return check_places();
}

Result<void> Checkpoint::check_places() const {
  for (const auto& [tensor, name] : index_->files) {
    const TensorInfo* found = header_.find(tensor);
    if (found != nullptr && names_[found->file] == name) continue;
    return Error{
        ErrorCode::file_corrupt,
        cat("the index says that ", quote(tensor), " is in ", quote(name, 1000), ", it is ",
            found == nullptr ? "in no file" : cat("in ", quote(names_[found->file], 1000))),
        "write or download the files and the index again, all of one checkpoint"};
  }
  return {};
}

Result<void> Checkpoint::read(const TensorInfo& tensor, std::uint64_t offset,
                              std::span<std::byte> out) const {
  return files_[tensor.file].read(tensor, offset, out);
}

Result<void> Checkpoint::unchanged() const {
  for (const SafetensorsReader& file : files_) DIECAST_CHECK(file.unchanged());
  return {};
}

}  // namespace diecast
