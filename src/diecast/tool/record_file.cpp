// Adding records to a file that others may add to; see record_file.h.
#include <diecast/base/text.h>
#include <diecast/tool/record_file.h>
#include <fcntl.h>

namespace diecast::tool {

Result<RecordFile> RecordFile::open(const std::string& path) {
  RecordFile out;
  if (path.empty()) return out;
  out.path_ = path;
  DIECAST_TRY(out.file_, LineFile::open(system_files(), path));
  DIECAST_TRY(TuningFile read, read_tuning_file(path));
  out.known = std::move(read.records);
  return out;
}

Result<void> RecordFile::add(const TuningRecord& record) {
  return file_ ? file_.add(record.line()) : Result<void>();
}

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

}  // namespace diecast::tool
