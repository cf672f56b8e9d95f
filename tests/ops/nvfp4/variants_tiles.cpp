// Runner of quantize_nvfp4_tiles: one matrix, or a group of five members of which two are empty.
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>
#include <array>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
// One direction: what the kernel is given and has to write, for all members.
struct Direction {
  bool columnwise = false, present = false, of_blocks = false;
  reference::TilesOptions options;
  QuantizedSide sizes;         // of the buffers, for all members
  std::int64_t scale_gap = 0;  // bytes between the rows of linear scales
  std::vector<float> given, block_amax;
  reference::Bytes codes, scales;  // expected, poison where nobody writes
  std::unique_ptr<DeviceBuffer> codes_memory, scales_memory, given_memory, of_blocks_memory;

  void expect(const Tensor& x, const MemberSide& at, const Case& one, ScaleLayout layout);
};

Direction direction_of(const Specialization& s, bool columnwise) {
  Direction out;
  out.columnwise = columnwise;
  const std::string direction = word_of(s, "SIDES"), rht = word_of(s, "RHT");
  const char* own = columnwise ? "columnwise" : "rowwise";
  out.present = direction == own || direction == "both";
  reference::Nvfp4Options& options = out.options.nvfp4;
  options.profile = enum_of<Profile>(s, "PROFILE");
  options.global = enum_of<GlobalScale>(s, "GLOBAL");
  options.row_scaled = flag(s, "ROW_SCALE");
  options.four_over_six = enum_of<FourOverSix>(s, "FOUR_OVER_SIX");
  options.bound = static_cast<int>(s.number("BOUND"));
  options.rht = rht == own || rht == "both";
  options.sign_mask = static_cast<unsigned>(s.number("SIGN_MASK"));
  options.random = random_of(s);
  out.options.square = s.number("BLOCK_ROWS") == 16;
  out.of_blocks = flag(s, "BLOCK_AMAX");
  return out;
}

// What GLOBAL says of an amax.
float given_of(float amax, GlobalScale global) {
  if (global == GlobalScale::encode) return reference::te_encode_scale(amax);
  return global == GlobalScale::decode ? reference::te_decode_scale(amax) : amax;
}

void paste(reference::Bytes& image, std::uint64_t at, const reference::Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(at));
}

// A member's part; `at` holds offsets instead of addresses.
void Direction::expect(const Tensor& x, const MemberSide& at, const Case& one, ScaleLayout layout) {
  std::vector<float> own = columnwise ? reference::amax_columnwise(x, options.nvfp4)
                                      : reference::amax_rowwise(x, options.nvfp4);
  for (float& value : own) {
    value = usable_amax(one, value);
    if (one.seed % 3 == 0 && !options.nvfp4.row_scaled) value *= columnwise ? 0.02f : 0.03f;
    value = given_of(value, options.nvfp4.global);
  }
  const auto quantized = columnwise ? reference::quantize_columnwise(x, options, own)
                                    : reference::quantize_rowwise(x, options, own);
  std::copy(own.begin(), own.end(),
            given.begin() + static_cast<std::ptrdiff_t>(at.amax / sizeof(float)));
  const std::int64_t lines = columnwise ? x.cols() : x.rows();
  const std::int64_t blocks = ((columnwise ? x.rows() : x.cols()) + 15) / 16;
  paste(codes, at.data, quantized.codes);
  if (scale_gap == 0) {
    paste(scales, at.scale, reference::laid_out(quantized.scales, layout, lines, blocks));
    return;
  }
  for (std::int64_t line = 0; line < lines; ++line) {
    const auto* row = quantized.scales.data() + line * blocks;
    paste(scales, line * (blocks + scale_gap), {row, row + blocks});
  }
}

// The rows of a case in members, the first and the fourth of which are empty.
// A matrix or its members, as they lie in buffers that begin at 0.
struct Layout {
  std::vector<std::int64_t> offsets;
  std::vector<MemberDescriptor> members;
  QuantizedSide rowwise, columnwise;
};

Layout layout_of(const Specialization& s, const Case& one) {
  Layout out;
  QuantizedGroup group;
  out.offsets = flag(s, "GROUPED") ? offsets_for(one) : std::vector<std::int64_t>{0, one.rows};
  group.whole.shape = {one.rows, one.cols};
  group.whole.type.layout = enum_of<ScaleLayout>(s, "LAYOUT");
  group.whole.type.row_scaled = flag(s, "ROW_SCALE");
  group.count = static_cast<std::int64_t>(out.offsets.size()) - 1;
  group.host_row_offsets = out.offsets.data();
  out.rowwise = group.rowwise_sizes().value();
  out.columnwise = group.columnwise_sizes().value();
  out.members.resize(static_cast<std::size_t>(group.count));
  for (QuantizedSide* side : {&out.rowwise, &out.columnwise}) {
    side->data = side->scale = side->amax = reinterpret_cast<float*>(0x1000);
  }
  group.whole.rowwise = out.rowwise;
  group.whole.columnwise = out.columnwise;
  group.members = out.members.data();
  group.describe(nullptr, out.members.data()).value();
  for (MemberDescriptor& member : out.members) {
    for (MemberSide* side : {&member.rowwise, &member.columnwise}) {
      side->data -= 0x1000;
      side->scale -= 0x1000;
      side->amax -= 0x1000;
    }
  }
  return out;
}

void prepare(Direction& direction, Device& device, Matrix& x, const Case& one, Layout& layout,
             ScaleLayout scale_layout) {
  if (!direction.present) return;
  direction.sizes = direction.columnwise ? layout.columnwise : layout.rowwise;
  const std::int64_t spare = one.device_rows ? kSpareRows * 512 : 0;
  if (one.strided && scale_layout == ScaleLayout::linear && layout.members.size() == 1) {
    direction.scale_gap = 3;
    direction.sizes.scale_bytes += 3 * (direction.columnwise ? one.cols : one.rows);
  }
  direction.codes.assign(static_cast<std::size_t>(direction.sizes.data_bytes + spare),
                         DeviceBuffer::kPoison);
  direction.scales.assign(static_cast<std::size_t>(direction.sizes.scale_bytes + spare),
                          DeviceBuffer::kPoison);
  direction.given.assign(static_cast<std::size_t>(direction.sizes.amax_count), 0.0f);
  for (const MemberDescriptor& member : layout.members) {
    if (direction.of_blocks) {
      const std::int64_t lines = direction.columnwise ? one.cols : member.rows;
      const std::int64_t blocks = ((direction.columnwise ? member.rows : one.cols) + 15) / 16;
      auto& own = direction.options.nvfp4.block_amax;
      own = block_amaxes((direction.options.square ? (lines + 15) / 16 : lines) * blocks,
                         one.seed + static_cast<std::uint64_t>(blocks + member.row_begin));
      direction.block_amax.insert(direction.block_amax.end(), own.begin(), own.end());
    }
    Tensor rows = x.on_host();
    rows.data = x.host.data() + member.row_begin * x.stride * (dtype_bits(x.dtype) / 8);
    rows.shape = {member.rows, one.cols};
    direction.expect(rows, direction.columnwise ? member.columnwise : member.rowwise, one,
                     scale_layout);
  }
  const std::vector<float>& of_blocks = direction.block_amax;
  direction.of_blocks_memory =
      std::make_unique<DeviceBuffer>(device, of_blocks.data(), of_blocks.size() * sizeof(float));
  direction.codes_memory = std::make_unique<DeviceBuffer>(device, direction.codes.size());
  direction.scales_memory = std::make_unique<DeviceBuffer>(device, direction.scales.size());
  direction.given_memory = std::make_unique<DeviceBuffer>(device, direction.given.data(),
                                                          direction.given.size() * sizeof(float));
  for (MemberDescriptor& member : layout.members) {
    MemberSide& at = direction.columnwise ? member.columnwise : member.rowwise;
    at.data += reinterpret_cast<std::uintptr_t>(direction.codes_memory->data_pointer());
    at.scale += reinterpret_cast<std::uintptr_t>(direction.scales_memory->data_pointer());
    at.amax += reinterpret_cast<std::uintptr_t>(direction.given_memory->data_pointer());
  }
}

std::string quantize_nvfp4_tiles_difference(Kernel& kernel, const Case& one,
                                            const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const bool grouped = flag(s, "GROUPED");
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  Layout layout = layout_of(s, one);
  std::array<Direction, 2> directions = {direction_of(s, false), direction_of(s, true)};
  for (Direction& direction : directions) {
    prepare(direction, device, x, one, layout, enum_of<ScaleLayout>(s, "LAYOUT"));
  }
  for (MemberDescriptor& member : layout.members) {
    const std::int64_t row_bytes = x.stride * (dtype_bits(x.dtype) / 8);
    member.matrix =
        reinterpret_cast<std::uintptr_t>(x.device->data_pointer()) + member.row_begin * row_bytes;
    member.stride = x.stride;
  }
  const std::size_t member_bytes = grouped ? layout.members.size() * sizeof(MemberDescriptor) : 0;
  DeviceBuffer members(device, layout.members.data(), member_bytes);
  const Rows rows = rows_of(device, one);
  const auto random = random_of(s);
  const DeviceBuffer state(device, random ? &*random : nullptr, random ? sizeof *random : 0);
  const auto of = [&](const std::unique_ptr<DeviceBuffer>& memory) -> const void* {
    return grouped || !memory ? nullptr : memory->data_pointer();
  };
  const auto of_blocks = [](const Direction& direction) -> const void* {
    return direction.present ? direction.of_blocks_memory->data_pointer() : nullptr;
  };
  const auto& [across, down] = directions;
  const auto stride = [](std::int64_t elements, const Direction& direction) {
    return direction.scale_gap == 0 ? 0 : ceil_div(elements, 16) + direction.scale_gap;
  };
  const args::QuantizeNvfp4Tiles arguments{
      .x = grouped ? KernelArgument::tensor(x.dtype, nullptr) : x.argument(),
      .amax = of(across.given_memory),
      .codes = of(across.codes_memory),
      .scales = {of(across.scales_memory), stride(one.cols, across)},
      .amax_t = of(down.given_memory),
      .codes_t = of(down.codes_memory),
      .scales_t = of(down.scales_memory),
      .members = members.data_pointer(),
      .rows = rows.argument,
      .cols = one.cols,
      .count = grouped ? static_cast<std::int64_t>(layout.members.size()) : 0,
      .pitch_t = stride(one.rows, down),
      .block_amax = of_blocks(across),
      .block_amax_t = of_blocks(down),
      .rng = state.data_pointer()};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (const Direction& d : directions) {
    if (!d.present || !problem.empty()) continue;
    const std::string name = d.columnwise ? "columnwise " : "rowwise ";
    problem =
        compare((name + "scales").c_str(), *d.scales_memory, d.scales.data(), d.scales.size());
    if (!problem.empty()) break;
    problem = compare((name + "codes").c_str(), *d.codes_memory, d.codes.data(), d.codes.size());
  }
  return problem;
}

const RunnerFor<args::QuantizeNvfp4Tiles> quantize_nvfp4_tiles_runner{
    quantize_nvfp4_tiles_difference};

}  // namespace
}  // namespace diecast::variants
