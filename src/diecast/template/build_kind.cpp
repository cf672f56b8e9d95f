// See build_kind.h.
#include <diecast/base/text.h>
#include <diecast/template/build_kind.h>

namespace diecast {

std::string_view build_kind_word(BuildKind build) {
  constexpr std::string_view kWords[] = {"plain", "lines", "debug"};
  return kWords[static_cast<std::size_t>(build)];
}

Result<BuildKind> parse_build_kind(std::string_view word) {
  for (const BuildKind build : {BuildKind::plain, BuildKind::lines, BuildKind::debug})
    if (word == build_kind_word(build)) return build;
  return Error{ErrorCode::invalid_argument, cat("no kind of build is named ", quote(word)),
               "use plain, lines or debug"};
}

}  // namespace diecast
