// Printing events; see event_log.h.
#include <diecast/base/text.h>
#include <diecast/runtime/event_log.h>
#include <unistd.h>

namespace diecast {

Result<EventLog> EventLog::open(const std::string& setting) {
  EventLog log;
  if (setting.empty() || setting == "off") return log;
  log.level_ = setting == "warn" ? Level::warn : Level::info;
  if (setting == "warn" || setting == "info") return log;
  if (!setting.starts_with('/'))
    return Error{ErrorCode::invalid_argument,
                 cat("DIECAST_LOG: no way to log is named ", quote(setting)),
                 "use off, warn, info, or the absolute path of a file"};
  DIECAST_TRY(log.file_, LineFile::open(system_files(), setting));
  return log;
}

bool EventLog::wants(RuntimeEvent::Kind kind) const {
  return level_ == Level::info || (level_ == Level::warn && is_notice(kind));
}

void EventLog::write(const RuntimeEvent& event) const {
  const std::string line = cat("diecast: ", event_text(event));
  if (file_) return (void)file_.add(line);
  const std::string ended = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, ended.data(), ended.size());
}

}  // namespace diecast
