// See extents.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/extents.h>

namespace diecast {

Result<std::vector<std::int64_t>> extents_at(const Specialization& kernel,
                                             const BoundArgument& tensor, const RunSizes& sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  const Names known = kernel.names();
  const Names names = [&](std::string_view name) -> std::optional<std::int64_t> {
    for (const auto& [size, value] : sizes)
      if (size == name) return value;
    return known(name);
  };
  std::vector<std::int64_t> out;
  std::int64_t elements = 1;
  for (const Expression& extent : tensor.shape) {
    DIECAST_TRY(const std::int64_t value, extent.evaluate(names));
    if (value < 0)
      return Error{ErrorCode::invalid_argument,
                   cat(tensor.name, " would have an extent of ", value, ": ", extent.text()),
                   "take a larger size"};
    if (__builtin_mul_overflow(elements, value, &elements) || elements > kMost)
      return Error{ErrorCode::invalid_argument, cat(tensor.name, " would have too many elements"),
                   "take a smaller size"};
    out.push_back(value);
  }
  return out;
}

std::int64_t elements_of(std::span<const std::int64_t> extents) {
  std::int64_t out = 1;
  for (const std::int64_t extent : extents) out *= extent;
  return out;
}

}  // namespace diecast
