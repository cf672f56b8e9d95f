// Runners of amax_grouped and describe_group.
#include <diecast/ops/reference/tiles.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

std::string amax_grouped_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Case host_rows = one;
  host_rows.device_rows = false;
  Matrix x = input_matrix(device, host_rows, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const std::int64_t row_bytes = x.stride * (dtype_bits(x.dtype) / 8);
  const bool listed = word_of(s, "GROUP") == "list";
  const auto per = enum_of<AmaxPer>(s, "PER");
  // Whole maxima of a side or of both; rows and columns have their own.
  const std::int32_t sides =
      per == AmaxPer::tensor ? 1 + static_cast<std::int32_t>(one.seed % 3) : 3;
  const auto offsets = offsets_for(one);
  std::array<MemberDescriptor, 16> members{};
  std::vector<float> want;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    members[i].rows = offsets[i + 1] - offsets[i];
    members[i].stride = x.stride;
    members[i].matrix =
        reinterpret_cast<std::uintptr_t>(x.device->data_pointer()) + offsets[i] * row_bytes;
    Tensor rows = x.on_host();
    rows.data = x.host.data() + offsets[i] * row_bytes;
    rows.shape = {members[i].rows, one.cols};
    const auto own = reference::amax_per(rows, per, static_cast<AmaxNans>(s.number("NANS")),
                                         static_cast<AmaxTransform>(s.number("RHT")),
                                         static_cast<unsigned>(s.number("SIGN_MASK")));
    if (!listed || want.empty()) {
      want.insert(want.end(), own.begin(), own.end());
      continue;
    }
    // Magnitudes compare as the integers of their bits, NaN above all.
    for (std::size_t j = 0; j < own.size(); ++j) {
      std::uint32_t was, now;
      std::memcpy(&was, &want[j], sizeof was);
      std::memcpy(&now, &own[j], sizeof now);
      if (now > was) want[j] = own[j];
    }
  }
  const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::size_t bytes = want.size() * sizeof(float);
  // Rowwise and columnwise amaxes of members; the list's are the second.
  DeviceBuffer rowwise(device, bytes), columnwise(device, bytes);
  const bool across = !listed && per != AmaxPer::column && (sides & 1) != 0;
  const bool down = listed || (per != AmaxPer::row && (sides & 2) != 0);
  // Rows have theirs written, the others must be clear.
  if (across && per != AmaxPer::row) device.fill(rowwise.data_pointer(), 0, bytes, {}).value();
  if (down) device.fill(columnwise.data_pointer(), 0, bytes, {}).value();
  for (std::int64_t i = 0, begin = 0; !listed && i < count; ++i) {
    MemberDescriptor& member = members[static_cast<std::size_t>(i)];
    member.rowwise.amax = reinterpret_cast<std::uintptr_t>(rowwise.data_pointer() + begin * 4);
    member.columnwise.amax =
        reinterpret_cast<std::uintptr_t>(columnwise.data_pointer() + begin * 4);
    begin += per == AmaxPer::tensor ? 1 : per == AmaxPer::row ? member.rows : one.cols;
  }
  DeviceBuffer descriptors(device, members.data(),
                           static_cast<std::size_t>(count) * sizeof(MemberDescriptor));
  const args::AmaxGrouped arguments{.members = listed ? nullptr : descriptors.data_pointer(),
                                    .list = members,
                                    .amax = listed ? columnwise.data_pointer() : nullptr,
                                    .sides = sides,
                                    .rows = one.rows,
                                    .cols = one.cols,
                                    .count = count};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("rowwise amax", rowwise, want.data(), across ? bytes : 0);
  if (!problem.empty()) return problem;
  return compare("columnwise amax", columnwise, want.data(), down ? bytes : 0);
}

std::string describe_group_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  QuantizedGroup group;
  const std::int64_t cols = 40 + static_cast<std::int64_t>(one.seed % 7) * 16;
  const bool fours = flag(s, "FOUR_BIT"), nvfp4 = s.number("BLOCK") == 16;
  group.whole.type.format = nvfp4 ? Format::nvfp4 : fours ? Format::mxfp4 : Format::mxfp8_e4m3;
  group.whole.type.row_scaled = flag(s, "ROW_SCALE");
  group.whole.type.layout = static_cast<ScaleLayout>(s.number("LAYOUT"));
  group.count = one.cols;
  std::mt19937_64 random(one.seed);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> counts, wild;  // as they are, and as a kernel has to understand them
  for (std::int64_t i = 0; i < group.count; ++i) {
    const auto rows = static_cast<std::int32_t>(random() % 3 * (random() % 200));
    offsets.push_back(offsets.back() + rows);
    wild.push_back(static_cast<std::int32_t>(random() % 300) - 50);
    counts.push_back(std::clamp(wild.back(), 0, rows));
  }
  const bool counted = one.seed % 2 == 0;
  if (counted) group.host_row_counts = counts.data();
  group.whole.shape = {offsets.back() + 5, cols};
  group.host_row_offsets = offsets.data();
  group.whole.rowwise = group.rowwise_sizes().value();
  group.whole.columnwise = group.columnwise_sizes().value();
  const auto address = [](std::uintptr_t at) { return reinterpret_cast<float*>(at); };
  if (one.seed % 4 != 1) {
    group.whole.rowwise.data = address(0x10000000), group.whole.rowwise.scale = address(0x20000000);
    if (nvfp4) group.whole.rowwise.amax = address(0x30000000);
  }
  if (one.seed % 4 != 2) {
    group.whole.columnwise.data = address(0x40000000);
    group.whole.columnwise.scale = address(0x50000000);
    if (nvfp4) group.whole.columnwise.amax = address(0x60000000);
  }
  if (group.whole.type.layout == ScaleLayout::linear && one.seed % 3 == 0) {
    group.whole.rowwise.scale_stride = 20, group.whole.columnwise.scale_stride = fours ? 40 : 140;
    for (QuantizedSide* side : {&group.whole.rowwise, &group.whole.columnwise}) {
      side->scale_bytes = 140 * (cols * group.count + offsets.back());
    }
  }
  const Tensor matrix{address(0x70000000), DType::bf16, group.whole.shape, cols + 8, nullptr};
  std::vector<MemberDescriptor> want(static_cast<std::size_t>(group.count));
  group.describe(&matrix, want.data()).value();

  DeviceBuffer begins(device, offsets.data(), offsets.size() * sizeof(std::int64_t));
  DeviceBuffer real(device, wild.data(), wild.size() * sizeof(std::int32_t));
  DeviceBuffer members(device, want.size() * sizeof(MemberDescriptor));
  const QuantizedSide &across = group.whole.rowwise, &down = group.whole.columnwise;
  const args::DescribeGroup arguments{.offsets = begins.data_pointer(),
                                      .members = members.data_pointer(),
                                      .counts = counted ? real.data_pointer() : nullptr,
                                      .cols = cols,
                                      .matrix = matrix.data,
                                      .stride = matrix.stride(),
                                      .element_bytes = std::int64_t{2},
                                      .rowwise_data = across.data,
                                      .rowwise_scale = across.scale,
                                      .rowwise_amax = across.amax,
                                      .columnwise_data = down.data,
                                      .columnwise_scale = down.scale,
                                      .columnwise_amax = down.amax,
                                      .rowwise_stride = across.scale_stride,
                                      .columnwise_stride = down.scale_stride,
                                      .count = group.count};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty()
             ? compare("members", members, want.data(), want.size() * sizeof(MemberDescriptor))
             : problem;
}

const RunnerFor<args::AmaxGrouped> amax_grouped_runner{amax_grouped_difference};
const RunnerFor<args::DescribeGroup> describe_group_runner{describe_group_difference};

}  // namespace
}  // namespace diecast::variants
