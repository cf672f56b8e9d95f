// Reading matrices; see shape.h.
#include "bench/shape.h"

#include <diecast/base/text.h>

namespace diecast::tool {

std::optional<BenchShape> parse_shape(std::string_view text) {
  const auto sides = split(text, 'x');
  if (sides.size() != 2) return std::nullopt;
  const auto rows = parse_integer(sides[0]), cols = parse_integer(sides[1]);
  constexpr std::int64_t kMost = 1 << 20;
  if (!rows || !cols || *rows < 1 || *rows > kMost || *cols < 32 || *cols > kMost ||
      *cols % 32 != 0) {
    return std::nullopt;
  }
  return BenchShape{*rows, *cols};
}

CLI::Validator is_shape() {
  return {[](std::string& text) {
            return parse_shape(text) ? std::string()
                                     : cat(quote(text), " is no ROWSxCOLS with columns in whole ",
                                           "blocks of 32, at most 1048576 of each");
          },
          "ROWSxCOLS"};
}

}  // namespace diecast::tool
