// A file becomes a file, a folder a folder with files of the same names and an index of its own.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert_outputs.h>
#include <diecast/checkpoint/find_checkpoint.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace diecast {

// Of all that will be written, before any of it is.
Result<void> ConvertOutputs::check_space(const Plan& plan, const std::string& output) const {
  std::uint64_t needed = 0, free = 0;
  for (const SafetensorsHeader& file : plan.outputs) needed += file.file_bytes();
  for (const SideFile& file : side_files_.list()) needed += file.bytes();
  const auto folder_at = [&](const std::string& path) {
    return Descriptor(*files_, files_->open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0));
  };
  std::string path = output;
  Descriptor folder = folder_at(path);
  if (!folder) {  // a file, or a folder that is not there yet
    path = without_slashes(path);
    const std::size_t slash = path.rfind('/');
    path = slash == path.npos ? "." : path.substr(0, slash + 1);
    folder = folder_at(path);
  }
  if (!folder) return {};  // whoever makes the output says what is wrong
  const int known = files_->free_space(folder.number(), &free);
  if (known == -ENOSYS || known == -EOPNOTSUPP) return {};
  if (known < 0) return file_error("ask for free space in", path, known);
  if (needed <= free) return {};
  return Error{ErrorCode::io_error,
               cat("the output has ", needed, " bytes, and there is room for ", free, " in ",
                   quote(path, 1000), ": ", needed - free, " bytes are missing"),
               "free these, or name an output on another file system"};
}

Result<void> ConvertOutputs::make(const std::string& folder) {
  const int made = files_->make_directory_at(AT_FDCWD, folder.c_str(), 0777);
  if (made == -EEXIST) return {};
  if (made < 0) return file_error("create the folder", folder, made);
  made_.push_back(folder);
  return sync_directory_of(*files_, folder);
}

Result<void> ConvertOutputs::make_folder(const std::string& output) {
  const std::string folder = without_slashes(output);
  struct stat old = {};
  const int found = files_->status_at(AT_FDCWD, folder.c_str(), &old, 0);
  if (found < 0 && found != -ENOENT) return file_error("write", folder, found);
  if (found < 0 && files_->status_at(AT_FDCWD, folder.c_str(), &old, AT_SYMLINK_NOFOLLOW) >= 0) {
    return Error{ErrorCode::file_exists,
                 cat("the output ", quote(folder, 1000), " is a symbolic link that leads nowhere"),
                 "make the folder that it leads to, or remove the link"};
  }
  struct stat input = {};
  if (found >= 0 && files_->status_at(AT_FDCWD, input_->folder().c_str(), &input, 0) >= 0 &&
      input.st_dev == old.st_dev && input.st_ino == old.st_ino) {
    return Error{ErrorCode::invalid_argument,
                 cat("the output ", quote(folder, 1000), " is the input's own folder"),
                 "name another folder"};
  }
  const bool looks_like_file = folder.ends_with(".safetensors") || folder.ends_with(".json");
  if (found < 0 ? looks_like_file : !S_ISDIR(old.st_mode)) {
    return Error{found < 0 ? ErrorCode::invalid_argument : ErrorCode::file_exists,
                 cat("the output ", quote(folder, 1000), " is a file", found < 0 ? "'s name" : "",
                     ", but ", quote(input_->path(), 1000), " becomes a folder"),
                 "give the output a folder, new or there: its files are named as the input's"};
  }
  if (found < 0) DIECAST_CHECK(make(folder));
  folder_ = folder == "/" ? folder : folder + "/";
  return refuse_others();
}

// Beside another checkpoint neither could be found by the folder's name.
Result<void> ConvertOutputs::refuse_others() const {
  std::vector<std::string_view> taken = {kCheckpointIndex};
  if (input_->index()) taken.push_back(kCheckpointFile);
  for (const std::string_view name : taken) {
    const bool its_own = std::ranges::find(input_->names(), name) != input_->names().end();
    if (its_own || (input_->index() && name == input_->index_name())) continue;
    const std::string there = cat(folder_, name);
    struct stat old;
    if (files_->status_at(AT_FDCWD, there.c_str(), &old, AT_SYMLINK_NOFOLLOW) < 0) continue;
    return Error{
        ErrorCode::file_exists,
        cat("the folder ", quote(folder_, 1000), " has another checkpoint: ", quote(there, 1000)),
        "name a new folder, or remove that checkpoint first"};
  }
  return {};
}

// `finished`: with a file of this name the output is whole. Others are what a killed run has left.
Result<void> ConvertOutputs::refuse_finished(const std::string& path, bool finished) const {
  struct stat old;
  const int found = files_->status_at(AT_FDCWD, path.c_str(), &old, AT_SYMLINK_NOFOLLOW);
  if (found == -ENOENT) return {};
  if (found < 0) return file_error("write", path, found);
  if (S_ISLNK(old.st_mode)) {
    return Error{ErrorCode::file_exists,
                 cat("the output ", quote(path, 1000), " is a symbolic link"),
                 "name the file that it leads to, or remove the link"};
  }
  if (!finished || overwrite_ || !S_ISREG(old.st_mode)) return {};
  return Error{ErrorCode::file_exists,
               cat("the output ", quote(path, 1000), " is there already, finished"),
               "name another output, or replace it with --overwrite"};
}

Result<ConvertOutputs> ConvertOutputs::create(const Checkpoint& input, const Plan& plan,
                                              const std::string& output, bool overwrite,
                                              FileSystem& files) {
  if (plan.outputs.size() != input.files().size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("the plan is for ", plan.outputs.size(), " files, ", quote(input.path(), 1000),
                     " has ", input.files().size()),
                 "make the plan from the header of the checkpoint to convert"};
  }
  ConvertOutputs out(input, files);
  out.overwrite_ = overwrite;
  if (input.in_folder()) {
    DIECAST_TRY(out.side_files_, SideFiles::find(input, plan, files));
  }
  DIECAST_CHECK(out.check_space(plan, output));
  if (input.in_folder()) {
    DIECAST_CHECK(out.make_folder(output));
    if (input.index()) DIECAST_CHECK(out.refuse_finished(out.folder_ + input.index_name(), true));
    for (const std::string& name : out.side_files_.folders())
      DIECAST_CHECK(out.make(out.folder_ + name));
    DIECAST_TRY(out.staged_, out.side_files_.stage(out.folder_, overwrite, files));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::string path = input.in_folder() ? out.folder_ + input.names()[i] : output;
    DIECAST_TRY(SafetensorsWriter writer,
                SafetensorsWriter::create(path, plan.outputs[i], &input.files()[i], files));
    DIECAST_CHECK(out.refuse_finished(path, !input.index()));
    out.writers_.push_back(std::move(writer));
  }
  return out;
}

ConvertOutputs::ConvertOutputs(ConvertOutputs&& other) noexcept
    : input_(other.input_),
      files_(other.files_),
      folder_(std::move(other.folder_)),
      made_(std::exchange(other.made_, {})),
      overwrite_(other.overwrite_),
      writers_(std::move(other.writers_)),
      side_files_(std::move(other.side_files_)),
      staged_(std::move(other.staged_)) {}

ConvertOutputs::~ConvertOutputs() {
  writers_.clear();
  staged_.clear();
  // A folder that is no longer empty is somebody else's too and stays.
  for (; !made_.empty(); made_.pop_back())
    files_->unlink_at(AT_FDCWD, made_.back().c_str(), AT_REMOVEDIR);
}

std::uint64_t ConvertOutputs::data_bytes() const {
  std::uint64_t bytes = 0;
  for (const SafetensorsWriter& writer : writers_) bytes += writer.layout().data_bytes();
  return bytes;
}

std::uint64_t ConvertOutputs::file_bytes() const {
  std::uint64_t bytes = 0;
  for (const SafetensorsWriter& writer : writers_) bytes += writer.layout().file_bytes();
  return bytes;
}

Result<void> ConvertOutputs::write_index() {
  SafetensorsIndex index;
  index.metadata = input_->index()->metadata;
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    for (const TensorInfo& tensor : writers_[i].layout().tensors)
      index.files.emplace(tensor.name, input_->names()[i]);
  }
  DIECAST_TRY(AtomicFile file, AtomicFile::create(*files_, folder_ + input_->index_name()));
  DIECAST_CHECK(file.write(as_bytes(encode_index(index, data_bytes()))));
  return file.commit();
}

// An index that is overwritten must not list files of two runs.
Result<void> ConvertOutputs::drop_index() {
  const std::string path = folder_ + input_->index_name();
  const int gone = files_->unlink_at(AT_FDCWD, path.c_str(), 0);
  if (gone == -ENOENT) return {};
  if (gone < 0) return file_error("replace", path, gone);
  return sync_directory_of(*files_, path);
}

Result<void> ConvertOutputs::commit() {
  if (overwrite_ && input_->index()) DIECAST_CHECK(drop_index());
  for (StagedFile& file : staged_) DIECAST_CHECK(file.commit(*files_));
  for (SafetensorsWriter& writer : writers_) DIECAST_CHECK(writer.commit());
  if (input_->index()) DIECAST_CHECK(write_index());
  made_.clear();
  return {};
}

}  // namespace diecast
