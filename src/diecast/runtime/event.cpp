// Names of the event kinds.
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

}  // namespace diecast
