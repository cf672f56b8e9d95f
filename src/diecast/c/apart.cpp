// Whether tensors share memory; see apart.h.
#include <diecast/base/text.h>
#include <diecast/c/apart.h>

namespace diecast::c {
namespace {

// Rows with one pitch may lie between each other's.
bool overlap(const Extent& a, const Extent& b) {
  if (a.rows == 0 || b.rows == 0) return false;
  const Extent& low = a.begin <= b.begin ? a : b;
  const Extent& high = a.begin <= b.begin ? b : a;
  const auto offset = static_cast<std::int64_t>(high.begin - low.begin);
  if (offset >= (low.rows - 1) * low.pitch + low.width) return false;
  if (low.pitch != high.pitch || low.pitch == 0) return true;
  const std::int64_t column = offset % low.pitch;
  return column < low.width || column + high.width > low.pitch;
}

bool same(const Extent& a, const Extent& b) {
  return a.begin == b.begin && a.rows == b.rows && a.width == b.width && a.pitch == b.pitch;
}

}  // namespace

Result<void> check_apart(std::string_view op, std::span<const PlacedTensor> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].written) continue;
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      if (j == i || (j < i && tensors[j].written)) continue;
      if (!overlap(tensors[i].extent, tensors[j].extent)) continue;
      if (tensors[j].in_place && same(tensors[i].extent, tensors[j].extent)) continue;
      return Error{ErrorCode::invalid_argument,
                   cat(op, ": ", tensors[i].name, " is written and ", tensors[j].name,
                       " lies in the same memory"),
                   "pass memory of its own for each output"};
    }
  }
  return {};
}

}  // namespace diecast::c
