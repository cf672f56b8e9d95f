// Adding records to a file that others may add to; see record_file.h.
#include <diecast/base/text.h>
#include <diecast/tool/record_file.h>
#include <fcntl.h>

namespace diecast::tool {

Result<RecordFile> RecordFile::open(const std::string& path) {
  RecordFile out;
  if (path.empty()) return out;
  out.path_ = path;
  const int file =
      system_files().open_at(AT_FDCWD, path.c_str(), O_RDWR | O_APPEND | O_CREAT, 0644);
  if (file < 0) return file_error("write", path, file);
  out.file_ = Descriptor(system_files(), file);
  DIECAST_TRY(TuningFile read, read_tuning_file(path));
  out.known = std::move(read.records);
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, kTuningFileLimit));
  const std::string_view text = file_text(bytes);
  if (!text.empty() && text.back() != '\n') DIECAST_CHECK(out.write("\n"));  // a line cut short
  return out;
}

Result<void> RecordFile::add(const TuningRecord& record) { return write(cat(record.line(), "\n")); }

Result<void> RecordFile::replace(const TuningRecord& record) {
  if (!file_) return {};
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path_, kTuningFileLimit));
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  // Of one that only appends every write is at the end.
  const Descriptor file(system_files(),
                        system_files().open_at(AT_FDCWD, path_.c_str(), O_WRONLY, 0));
  if (!file) return file_error("write", path_, file.number());
  for (const std::string_view whole : split(file_text(bytes), '\n')) {
    const std::string_view line = trim(whole);
    if (!line.starts_with(cat(record.key(), " | "))) continue;
    const auto offset = static_cast<std::uint64_t>(line.data() - begin);
    const int result = write_exactly(system_files(), file.number(), "#", 1, offset);
    if (result < 0) return file_error("write", path_, result);
  }
  return add(record);
}

Result<void> RecordFile::write(const std::string& text) {
  if (!file_) return {};
  const int result = write_exactly(system_files(), file_.number(), text.data(), text.size(), 0);
  return result < 0 ? Result<void>(file_error("write", path_, result)) : Result<void>();
}

}  // namespace diecast::tool
