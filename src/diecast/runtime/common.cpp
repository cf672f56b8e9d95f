// Counting, telling and tracing; see common.h.
#include <diecast/base/text.h>
#include <diecast/runtime/common.h>

namespace diecast {
namespace {

Error frozen_error(const std::string& spelling, std::string_view missing) {
  return {ErrorCode::frozen, cat("after freeze() a kernel is ", missing, ":\n", spelling),
          "prepare what launches it before freeze(), or call that once; a warm cache alone "
          "is not enough"};
}

// A file of something else must not get lines. Of a trace, as of any manifest, the first line that
// is no comment is a spelling.
Result<void> check_is_trace(const LineFile& file, const std::string& path) {
  const std::string begin = file.begin(4096);
  for (std::string_view line : split(file_text(as_bytes(begin)), '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto spelling = parse_spelling(line);
    if (spelling && !(spelling->values.empty() && spelling->targets.empty())) return {};
    return Error{
        ErrorCode::parse_error,
        cat("the trace ", quote(path, 1000), " is another file: it begins with ", quote(line, 80)),
        "give DIECAST_TRACE the path of a new file, or of a trace or manifest"};
  }
  return {};
}

}  // namespace

void Common::tell(RuntimeEvent event) const {
  const bool logged = log_.wants(event.kind), notice = is_notice(event.kind);
  if (!options.on_event && !logged && !notice) return;
  try {
    if (KeepEvents::kept != nullptr) return KeepEvents::kept->push_back(std::move(event));
    if (notice) keep_notice(event);
    if (logged) log_.write(event);
    if (options.on_event) options.on_event(event);
  } catch (...) {
  }
}

void Common::keep_notice(const RuntimeEvent& event) const {
  constexpr std::size_t kMostNotices = 64;
  const std::lock_guard lock(noticing_);
  if (notices_.size() < kMostNotices) notices_.push_back(event);
}

std::vector<RuntimeEvent> Common::notices() const {
  const std::lock_guard lock(noticing_);
  return notices_;
}

Result<void> Common::open_log() {
  DIECAST_TRY(log_, EventLog::open(options.log));
  return {};
}

RuntimeCounters Common::counters() const {
  const auto& c = count;
  return {c.rendered, c.memory_hits, c.disk_hits, c.compiled, c.failed,  c.published, c.loaded,
          c.waited,   c.late,        c.refused,   c.pruned,   c.ignored, c.degraded};
}

Result<void> Common::allow_late(const std::string& spelling, std::string_view missing) {
  if (!frozen) return {};
  if (late == Late::error) return frozen_error(spelling, missing);
  ++count.late;
  tell(RuntimeEvent::Kind::late, spelling, std::string(missing), 0);
  return {};
}

Result<void> Common::open_trace() {
  if (options.trace.empty()) return {};
  DIECAST_TRY(trace_, LineFile::open(system_files(), options.trace));
  return check_is_trace(trace_, options.trace);
}

void Common::write_trace(const std::string& spelling) {
  if (!trace_) return;
  const auto written = trace_.add(spelling);
  if (written || told_untraced_.exchange(true)) return;
  ++count.degraded;
  tell(RuntimeEvent::Kind::degraded, "", cat("the trace lacks lines: ", written.error().message()),
       0);
}

}  // namespace diecast
