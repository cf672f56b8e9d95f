// Names of the event kinds, and events as text.
#include <diecast/base/text.h>
#include <diecast/compile/log.h>
#include <diecast/runtime/event.h>

namespace diecast {

std::string_view event_name(RuntimeEvent::Kind kind) {
  switch (kind) {
    case RuntimeEvent::Kind::rendered:
      return "rendered";
    case RuntimeEvent::Kind::found:
      return "found";
    case RuntimeEvent::Kind::compiled:
      return "compiled";
    case RuntimeEvent::Kind::failed:
      return "failed";
    case RuntimeEvent::Kind::published:
      return "published";
    case RuntimeEvent::Kind::loaded:
      return "loaded";
    case RuntimeEvent::Kind::late:
      return "late";
    case RuntimeEvent::Kind::refused:
      return "refused";
    case RuntimeEvent::Kind::pruned:
      return "pruned";
    case RuntimeEvent::Kind::ignored:
      return "ignored";
    case RuntimeEvent::Kind::degraded:
      return "degraded";
  }
  return "";
}

bool is_notice(RuntimeEvent::Kind kind) {
  return kind == RuntimeEvent::Kind::late || kind == RuntimeEvent::Kind::ignored ||
         kind == RuntimeEvent::Kind::degraded;
}

std::string event_text(const RuntimeEvent& event) {
  std::vector<std::string> parts = {std::string(event_name(event.kind))};
  if (!event.spelling.empty()) parts.push_back(event.spelling);
  const std::string detail = clean_log(event.detail);
  std::vector<std::string> lines;
  for (const std::string_view line : split(detail, '\n')) lines.emplace_back(trim(line));
  if (!event.detail.empty()) parts.push_back(join(lines, "; "));
  return join(parts, ": ");
}

}  // namespace diecast
