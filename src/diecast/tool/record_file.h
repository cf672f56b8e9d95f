// The file of `diecast tune --out`.
#pragma once

#include <diecast/base/line_file.h>
#include <diecast/runtime/tuner.h>

#include <string>
#include <vector>

namespace diecast::tool {

// A file to which each record is added as it comes, as one line: what was measured before a run was
// killed is kept, and two runs on one file lose nothing of each other.
class RecordFile {
 public:
  // Errors: those of read_tuning_file; a file of something else is left as it is.
  static Result<RecordFile> open(const std::string& path);
  Result<void> add(const TuningRecord& record);
  // Lines of the record's key become comments, in place; then it is added.
  Result<void> replace(const TuningRecord& record);

  std::vector<TuningRecord> known;

 private:
  std::string path_;
  LineFile file_;
};

}  // namespace diecast::tool
