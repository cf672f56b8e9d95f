// Where DIECAST_LOG has a runtime print its events: one line each, whole lines of several threads.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/line_file.h>
#include <diecast/runtime/event.h>

#include <string>

namespace diecast {

class EventLog {
 public:
  // "" or "off": nothing; "warn": notices to standard error; "info": every event to standard error;
  // an absolute path: every event to that file. Errors: invalid_argument, those of
  // LineFile::open().
  static Result<EventLog> open(const std::string& setting);

  bool wants(RuntimeEvent::Kind kind) const;
  void write(const RuntimeEvent& event) const;  // what cannot be written is dropped

 private:
  enum class Level : std::uint8_t { off, warn, info };
  Level level_ = Level::off;
  LineFile file_;  // none: standard error
};

}  // namespace diecast
