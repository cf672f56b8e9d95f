// Runners of the MX templates.
#include <diecast/ops/reference/mx.h>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
reference::MxFormula formula_of(const Specialization& s) {
  const std::string format = word_of(s, "FORMAT"), mode = word_of(s, "MODE");
  reference::MxFormula formula;
  formula.format = format == "mxfp4"        ? Format::mxfp4
                   : format == "mxfp8_e5m2" ? Format::mxfp8_e5m2
                                            : Format::mxfp8_e4m3;
  formula.mode = mode == "rceil"   ? reference::MxMode::rceil
                 : mode == "floor" ? reference::MxMode::floor
                 : mode == "ceil"  ? reference::MxMode::ceil
                                   : reference::MxMode::even;
  formula.nan_scale = word_of(s, "PROFILE") != "te";
  formula.modelopt = word_of(s, "PROFILE") == "modelopt";
  return formula;
}

// A direction of all members: its buffers, and what must be in them.
struct SideOfAll {
  QuantizedSide sizes;
  std::vector<std::uint8_t> data_want, scales_want;
  std::unique_ptr<DeviceBuffer> data, scales;

  void allocate(Device& device) {
    data_want.assign(static_cast<std::size_t>(sizes.data_bytes), DeviceBuffer::kPoison);
    scales_want.assign(static_cast<std::size_t>(sizes.scale_bytes), DeviceBuffer::kPoison);
    data = std::make_unique<DeviceBuffer>(device, data_want.size());
    scales = std::make_unique<DeviceBuffer>(device, scales_want.size());
    sizes.data = data->data_pointer();
    sizes.scale = scales->data_pointer();
  }
  void expect(const MemberSide& at, const std::vector<std::uint8_t>& member_data,
              const std::vector<std::uint8_t>& member_scales) {
    const auto paste = [](std::vector<std::uint8_t>& to, std::uint64_t address,
                          const DeviceBuffer& buffer, const std::vector<std::uint8_t>& bytes) {
      const auto begin = address - reinterpret_cast<std::uintptr_t>(buffer.data_pointer());
      std::copy(bytes.begin(), bytes.end(), to.begin() + static_cast<std::ptrdiff_t>(begin));
    };
    paste(data_want, at.data, *data, member_data);
    paste(scales_want, at.scale, *scales, member_scales);
  }
  std::string difference(const std::string& name) const {
    const std::string found =
        compare((name + " scales").c_str(), *scales, scales_want.data(), scales_want.size());
    if (!found.empty()) return found;
    return compare((name + " data").c_str(), *data, data_want.data(), data_want.size());
  }
};

// The rows of a case in five members of which two are empty.
struct Members {
  std::vector<std::int64_t> offsets;
  QuantizedGroup group;
  SideOfAll across, down;
  std::vector<MemberDescriptor> described;
};

void describe(Members& members, Device& device, const Specialization& s, const Case& one,
              Matrix& x) {
  QuantizedGroup& group = members.group;
  members.offsets = offsets_for(one);
  group.whole.type.format = formula_of(s).format;
  group.whole.shape = {one.rows, one.cols};
  group.whole.type.layout = enum_of<ScaleLayout>(s, "LAYOUT");
  group.count = static_cast<std::int64_t>(members.offsets.size()) - 1;
  group.host_row_offsets = members.offsets.data();
  const std::string direction = word_of(s, "SIDES");
  if (direction != "columnwise") members.across.sizes = group.rowwise_sizes().value();
  if (direction != "rowwise") members.down.sizes = group.columnwise_sizes().value();
  members.across.allocate(device);
  members.down.allocate(device);
  if (direction != "columnwise") group.whole.rowwise = members.across.sizes;
  if (direction != "rowwise") group.whole.columnwise = members.down.sizes;
  members.described.resize(static_cast<std::size_t>(group.count));
  Tensor on_device = x.on_host();
  on_device.data = x.device->data_pointer();
  group.describe(&on_device, members.described.data()).value();
}

void expect(Members& members, const Specialization& s, const Case& one, Matrix& x) {
  const bool square = s.number("BLOCK_ROWS") == 32;
  const reference::MxFormula formula = formula_of(s);
  for (const MemberDescriptor& member : members.described) {
    Tensor rows = x.on_host();
    rows.data = x.host.data() + member.row_begin * x.stride * (dtype_bits(x.dtype) / 8);
    rows.shape = {member.rows, one.cols};
    if (members.group.whole.rowwise.present()) {
      const auto want = reference::quantize_mx(rows, formula, false, square).value();
      members.across.expect(member.rowwise, want.data,
                            laid_out(s, want.scales, member.rows, (one.cols + 31) / 32));
    }
    if (members.group.whole.columnwise.present()) {
      const auto want = reference::quantize_mx(rows, formula, true, square).value();
      members.down.expect(member.columnwise, want.data,
                          column_scales(s, want.scales, one.cols, (member.rows + 31) / 32).bytes);
    }
  }
}

std::string members_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  Members members;
  describe(members, device, s, one, x);
  expect(members, s, one, x);
  const std::size_t bytes = members.described.size() * sizeof(MemberDescriptor);
  DeviceBuffer descriptors(device, members.described.data(), bytes);
  const Rows rows = rows_of(device, one);
  const args::QuantizeMxTiles arguments{.x = {x.dtype, nullptr},
                                        .members = descriptors.data_pointer(),
                                        .rows = rows.argument,
                                        .cols = one.cols,
                                        .count = members.group.count,
                                        .pitch_t = 0};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = members.across.difference("rowwise");
  return problem.empty() ? members.down.difference("columnwise") : problem;
}

std::string quantize_mx_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const auto want = reference::quantize_mx(x.on_host(), formula_of(s), false, false).value();
  const std::int64_t blocks = (one.cols + 31) / 32;
  const bool apart = scales_apart(s, one);
  const auto scales_want = laid_out(s, want.scales, one.rows, blocks, apart);
  DeviceBuffer data(device, want.data.size() + spare_bytes(one, want.data.size()));
  DeviceBuffer scales(device, scales_want.size() + spare_bytes(one, scales_want.size()));
  const Rows rows = rows_of(device, one);
  const args::QuantizeMx arguments{.x = x.argument(),
                                   .codes = data.data_pointer(),
                                   .scales = {scales.data_pointer(), scale_stride(blocks, apart)},
                                   .rows = rows.argument,
                                   .cols = one.cols};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, scales_want.data(), scales_want.size());
  if (problem.empty()) problem = compare("codes", data, want.data.data(), want.data.size());
  return problem;
}

std::string quantize_mx_tiles_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  if (flag(s, "GROUPED")) return members_difference(kernel, one, tunes);
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const bool square = s.number("BLOCK_ROWS") == 32;
  const std::string direction = word_of(s, "SIDES");
  reference::MxSide across, down;
  ColumnScales down_scales = {};
  const bool apart = scales_apart(s, one);
  const std::int64_t blocks = (one.cols + 31) / 32;
  if (direction != "columnwise") {
    across = reference::quantize_mx(x.on_host(), formula_of(s), false, square).value();
    across.scales = laid_out(s, across.scales, one.rows, blocks, apart);
  }
  if (direction != "rowwise") {
    down = reference::quantize_mx(x.on_host(), formula_of(s), true, square).value();
    down_scales = column_scales(s, down.scales, one.cols, (one.rows + 31) / 32, apart);
  }
  DeviceBuffer data(device, across.data.size() + spare_bytes(one, across.data.size()));
  DeviceBuffer scales(device, across.scales.size() + spare_bytes(one, across.scales.size()));
  DeviceBuffer data_t(device, down.data.size() + spare_bytes(one, down.data.size()));
  DeviceBuffer scales_t(device,
                        down_scales.bytes.size() + spare_bytes(one, down_scales.bytes.size()));
  const std::int64_t down_stride = scale_stride(down_scales.row_length, apart);
  const std::int64_t pitch = word_of(s, "FORMAT") == "mxfp4" ? down_stride : 0;
  const Rows rows = rows_of(device, one);
  const args::QuantizeMxTiles arguments{
      .x = x.argument(),
      .codes = data.data_pointer(),
      .scales = {scales.data_pointer(), scale_stride(blocks, apart)},
      .codes_t = data_t.data_pointer(),
      .scales_t = {scales_t.data_pointer(), down_stride - pitch},
      .rows = rows.argument,
      .cols = one.cols,
      .count = 0,
      .pitch_t = pitch};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  const auto same = [&](const char* name, const DeviceBuffer& got,
                        const std::vector<std::uint8_t>& want) {
    if (problem.empty()) problem = compare(name, got, want.data(), want.size());
  };
  same("scales", scales, across.scales);
  same("codes", data, across.data);
  same("scales_t", scales_t, down_scales.bytes);
  same("codes_t", data_t, down.data);
  return problem;
}

const RunnerFor<args::QuantizeMx> quantize_mx_runner{quantize_mx_difference};
const RunnerFor<args::QuantizeMxTiles> quantize_mx_tiles_runner{quantize_mx_tiles_difference};

}  // namespace
}  // namespace diecast::variants
