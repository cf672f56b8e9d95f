// The version that the library was built as.
#include <diecast/base/text.h>
#include <diecast/base/version.h>

namespace diecast {

std::string_view library_version() {
  static const auto& version = *new std::string(
      cat(DIECAST_VERSION_MAJOR, '.', DIECAST_VERSION_MINOR, '.', DIECAST_VERSION_PATCH));
  return version;
}

}  // namespace diecast
