// The file of `diecast tune --out`.
#pragma once

#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/tuner.h>
#include <fcntl.h>

#include <string>
#include <vector>

namespace diecast::tool {

// A file to which each record is added as it comes, as one line: what was measured before a run was
// killed is kept, and two runs on one file lose nothing of each other.
class RecordFile {
 public:
  static Result<RecordFile> open(const std::string& path) {
    RecordFile out;
    if (path.empty()) return out;
    out.path_ = path;
    const int file =
        system_files().open_at(AT_FDCWD, path.c_str(), O_RDWR | O_APPEND | O_CREAT, 0644);
    if (file < 0) return file_error("write", path, file);
    out.file_ = Descriptor(system_files(), file);
    DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, kTuningFileLimit));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    out.known = parse_tuning_file(text).records;
    if (!text.empty() && text.back() != '\n') DIECAST_CHECK(out.write("\n"));  // a line cut short
    return out;
  }
  Result<void> add(const TuningRecord& record) { return write(cat(record.line(), "\n")); }

  std::vector<TuningRecord> known;

 private:
  Result<void> write(const std::string& text) {
    if (!file_) return {};
    const int result = write_exactly(system_files(), file_.number(), text.data(), text.size(), 0);
    return result < 0 ? Result<void>(file_error("write", path_, result)) : Result<void>();
  }
  std::string path_;
  Descriptor file_;
};

}  // namespace diecast::tool
