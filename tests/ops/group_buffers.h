// A group of quantized tensors with buffers of exactly its sizes, for the tests of groups.
#pragma once

#include <diecast/ops/group/quantized_group.h>

#include <string>
#include <utility>
#include <vector>

namespace diecast {

using Offsets = std::vector<std::int64_t>;

// A group with exact buffers in both directions. Addresses count from round numbers and are never
// dereferenced, so that places read as offsets.
struct Group {
  Group(Offsets row_offsets, std::int64_t cols, ScaleLayout layout, bool row_scaled)
      : offsets(std::move(row_offsets)) {
    view.whole.shape = {offsets.back(), cols};
    view.whole.type.layout = layout;
    view.whole.type.row_scaled = row_scaled;
    view.count = static_cast<std::int64_t>(offsets.size()) - 1;
    view.host_row_offsets = offsets.data();
    view.members = reinterpret_cast<MemberDescriptor*>(0x10);
    place(view.whole.rowwise, view.rowwise_sizes().value(), 0x1000000);
    place(view.whole.columnwise, view.columnwise_sizes().value(), 0x8000000);
  }
  static void place(QuantizedSide& side, const QuantizedSide& sizes, std::uintptr_t base) {
    side = sizes;
    side.data = reinterpret_cast<void*>(base);
    side.scale = reinterpret_cast<void*>(base + 0x1000000);
    side.amax = reinterpret_cast<float*>(base + 0x2000000);
  }
  std::vector<MemberDescriptor> describe(const Tensor* matrix = nullptr) const {
    std::vector<MemberDescriptor> out(static_cast<std::size_t>(view.count));
    view.describe(matrix, out.data()).value();
    return out;
  }
  Offsets offsets;
  QuantizedGroup view;
};

inline std::string message(const QuantizedGroup& group) {
  const auto checked = group.check("quantize_nvfp4");
  return checked ? "ok" : checked.error().message();
}

}  // namespace diecast
