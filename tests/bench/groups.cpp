// Many matrices in one launch, by their ops: groups of experts with rows that the device counts,
// few and many, and one amax of several tensors, beside plain quantize_nvfp4 of all their rows in
// one.
#include <diecast/base/text.h>
#include <diecast/ops/amax/amax_grouped.h>
#include <diecast/ops/mx/quantize_mx_grouped.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_grouped.h>
#include <diecast/tool/console.h>

#include <algorithm>

#include "bench/bench.h"
#include "bench/device.h"
#include "bench/graph.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kFew = 8, kMany = 256;
constexpr std::uint8_t kAmaxByte = 0x41;  // 0x41414141 is 12.08
constexpr int kGroupRepeats = 7, kGraphCalls = 4;

using Call = std::function<Result<void>(Stream)>;

Result<double> host_us(Device& device, const Call& call) {
  DIECAST_TRY(const double ms,
              median_ms(device, {}, kGroupRepeats, [&] { return call(Stream{}); }));
  return std::max(ms, 1e-6) * 1e3;
}

// Microseconds of each; a GPU's in CUDA graphs, for some are several launches.
Result<std::vector<double>> times_of(Runtime& runtime, const std::shared_ptr<Device>& device,
                                     const std::vector<Call>& calls) {
  std::vector<double> us;
  if (device->properties().cc == 0) {
    for (const Call& call : calls) {
      DIECAST_TRY(us.emplace_back(), host_us(*device, call));
    }
    return us;
  }
  DIECAST_TRY(const Stream stream, device->create_stream());
  DIECAST_TRY(GraphTimes graphs, GraphTimes::open(runtime, device, stream));
  for (const Call& call : calls) {
    DIECAST_CHECK(call(stream));  // what a capture needs is loaded
    DIECAST_CHECK(graphs.add(kGraphCalls, [&](int) { return call(stream); }));
  }
  DIECAST_TRY(us, graphs.measure());
  DIECAST_CHECK(device->destroy_stream(stream));
  return us;
}

// The matrix of all members, and buffers of groups of it.
struct Experts {
  Runtime& runtime;
  std::shared_ptr<Device> device;
  BenchMatrix matrix;
  std::int64_t count = kFew;
  std::vector<DeviceMemory> memory = {};
  QuantizedGroup group = {};

  Result<void*> take(std::int64_t bytes) {
    DIECAST_TRY(memory.emplace_back(),
                DeviceMemory::allocate(device, static_cast<std::size_t>(bytes)));
    return memory.back().data();
  }
  // Amaxes are 12, more than any element, as they would be if they were found.
  Result<void> allocate(QuantizedSide& side) {
    DIECAST_TRY(side.data, take(side.data_bytes));
    DIECAST_TRY(side.scale, take(side.scale_bytes));
    DIECAST_TRY(void* const amax, take(side.amax_count * 4));
    side.amax = static_cast<float*>(amax);
    return device->fill(amax, kAmaxByte, static_cast<std::size_t>(side.amax_count) * 4, {});
  }
  Result<void> describe() {
    const std::int64_t rows = matrix.x.rows() / count;
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i <= count; ++i) offsets.push_back(i * rows);
    DIECAST_TRY(void* const on_device, take((count + 1) * 8));
    DIECAST_CHECK(device->copy_to_device(on_device, offsets.data(), offsets.size() * 8, {}));
    DIECAST_CHECK(device->synchronize({}));
    group.count = count;
    group.device_row_offsets = static_cast<const std::int64_t*>(on_device);
    DIECAST_TRY(void* const members,
                take(count * static_cast<std::int64_t>(sizeof(MemberDescriptor))));
    group.members = static_cast<MemberDescriptor*>(members);
    return {};
  }
  // The group with buffers for its members quantized.
  Result<QuantizedGroup> with(const QuantizedType& type, bool columnwise = false) {
    QuantizedGroup out = group;
    out.whole.shape = matrix.x.shape;
    out.whole.type = type;
    DIECAST_TRY(out.whole.rowwise, out.rowwise_sizes());
    DIECAST_CHECK(allocate(out.whole.rowwise));
    if (!columnwise) return out;
    DIECAST_TRY(out.whole.columnwise, out.columnwise_sizes());
    DIECAST_CHECK(allocate(out.whole.columnwise));
    return out;
  }
};

struct Kind {
  const char* what;
  bool columnwise, row_scaled, transformed;
};
constexpr Kind kKinds[] = {{"quantize_nvfp4_grouped", false, false, false},
                           {"quantize_nvfp4_grouped, both sides", true, false, false},
                           {"quantize_nvfp4_grouped, row-scaled, with amaxes", false, true, false},
                           {"quantize_nvfp4_grouped, transformed", false, false, true}};

using Add = std::function<Result<void>(const std::string& what, const Call& call)>;

Result<void> add_nvfp4(Experts& experts, const Kind& kind, const Add& add) {
  DIECAST_TRY(const QuantizedGroup group,
              experts.with({.row_scaled = kind.row_scaled}, kind.columnwise));
  QuantizeNvfp4GroupedOptions options;
  options.device = experts.device;
  options.amax_given = !kind.row_scaled;
  options.rht = kind.transformed ? TransformedSides::rowwise : TransformedSides::none;
  return add(kind.what, [&](Stream stream) {
    return quantize_nvfp4_grouped(experts.runtime, experts.matrix.x, group, options, stream);
  });
}

Result<void> add_mx(Experts& experts, const Add& add) {
  DIECAST_TRY(const QuantizedGroup group, experts.with({.format = Format::mxfp8_e4m3}));
  QuantizeMxGroupedOptions options;
  options.device = experts.device;
  return add("quantize_mx_grouped", [&](Stream stream) {
    return quantize_mx_grouped(experts.runtime, experts.matrix.x, group, options, stream);
  });
}

Result<void> add_shared_amax(Experts& experts, const Add& add) {
  const Tensor& x = experts.matrix.x;
  const std::int64_t rows = x.rows() / kFew;
  std::vector<Tensor> parts(kFew, x);
  for (std::int64_t i = 0; i < kFew; ++i) {
    Tensor& part = parts[static_cast<std::size_t>(i)];
    part.shape = {rows, x.cols()};
    part.data = static_cast<std::uint16_t*>(x.data) + i * rows * x.cols();
  }
  DIECAST_TRY(void* const result, experts.take(4));
  AmaxOptions options;
  options.device = experts.device;
  return add("amax_shared", [&](Stream stream) {
    return amax_shared(experts.runtime, parts, static_cast<float*>(result), options, stream);
  });
}

}  // namespace

Result<Figures> bench_groups(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const bool host = device->properties().cc == 0;
  Experts experts{runtime, device, {}};
  DIECAST_TRY(experts.matrix,
              bench_matrix(device, host ? 256 : 8192, host ? 2048 : 8192, false, 1));
  QuantizeNvfp4Options plain;
  plain.amax_given = true;
  plain.device = device;
  const QuantizedTensor& whole = experts.matrix.quantized();
  DIECAST_CHECK(device->fill(whole.rowwise.amax, kAmaxByte, 4, {}));
  Figures figures;
  const Add add = [&](const std::string& what, const Call& call) -> Result<void> {
    const Call base = [&](Stream stream) {
      return quantize_nvfp4(runtime, experts.matrix.x, whole, plain, stream);
    };
    DIECAST_TRY(const std::vector<double> us, times_of(runtime, device, {base, call}));
    figures.push_back({cat(host ? "host: " : "GPU: ", what, ", ", experts.count, " matrices"),
                       us[1] / us[0], "x plain quantize", 0, false,
                       cat(fixed(us[1], 1), " us against ", fixed(us[0], 1), " us, ",
                           device->targets().front().name())});
    return {};
  };
  for (const std::int64_t count : {kFew, kMany}) {
    experts.count = count;
    DIECAST_CHECK(experts.describe());
    for (const Kind& kind : kKinds) DIECAST_CHECK(add_nvfp4(experts, kind, add));
    DIECAST_CHECK(add_mx(experts, add));
    if (count == kFew) DIECAST_CHECK(add_shared_amax(experts, add));
  }
  return figures;
}

}  // namespace diecast::tool
