// Runner of gemm_nvfp4: drawn operands, and members of groups.
#include <algorithm>
#include <deque>

#include "ops/gemm/gemm_case.h"

namespace diecast::variants {
namespace {
using reference::GemmNvfp4;
using reference::PackedNvfp4;

// An operand in device memory.
struct Placed {
  DeviceBuffer codes, scales, amax;
  std::int64_t scale_stride;

  Placed(Device& device, const PackedNvfp4& q, const std::vector<std::uint8_t>& scale_bytes,
         const std::vector<float>& amaxes, std::int64_t stride)
      : codes(device, q.codes.data(), q.codes.size()),
        scales(device, scale_bytes.data(), scale_bytes.size()),
        amax(device, amaxes.data(), amaxes.size() * sizeof(float)),
        scale_stride(stride) {}
};

struct Operands {
  const Specialization& s;
  std::mt19937_64 random;
  std::int64_t depth;
  std::deque<Placed> placed;

  Operands(const Specialization& specialization, std::uint64_t seed)
      : s(specialization), random(seed * 31 + 7) {
    draw_depth(seed);
  }
  void draw_depth(std::uint64_t seed) {
    depth = drawn_depth(seed);
    if (flag(s, "ALIGNED")) depth = (depth + 31) / 32 * 32;
  }
  const Placed& place(Device& device, const PackedNvfp4& q, const std::vector<float>& amax) {
    const LaidOutScales scales(s, q, random() % 2 == 0);
    return placed.emplace_back(device, q, scales.bytes, amax, scales.stride);
  }
  MemberDescriptor member(const Placed& at, std::int64_t rows, bool columnwise) const {
    MemberDescriptor out;
    out.rows = rows;
    const auto address = [](const DeviceBuffer& buffer) {
      return reinterpret_cast<std::uintptr_t>(buffer.data_pointer());
    };
    MemberSide& side = columnwise ? out.columnwise : out.rowwise;
    side = {address(at.codes), address(at.scales), address(at.amax), at.scale_stride};
    return out;
  }
};

// One product, its operands placed, and what it must give behind `out`.
struct Product {
  GemmNvfp4 gemm;
  const Placed *a, *b;

  Product(Operands& from, Device& device, const Case& one, std::int64_t rows) {
    gemm = drawn_product(from.s, from.random, rows, one.cols, from.depth);
    a = &from.place(device, gemm.a, gemm.a_amax);
    b = &from.place(device, gemm.b, gemm.b_amax);
  }
};

// Rows of out of each member, as offsets: what the case has in one, four or, where the rows of
// members are multiplied along, three of as many each.
std::vector<std::int64_t> parts_of(const Case& one, bool grouped, bool of_rows) {
  if (of_rows) return {0, one.rows, 2 * one.rows, 3 * one.rows};
  return grouped ? offsets_for(one) : std::vector<std::int64_t>{0, one.rows};
}

std::string gemm_nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const bool grouped = flag(s, "GROUPED");
  const bool of_rows = word_of(s, "COLUMNWISE_OF") == "both";
  const DType dtype = dtype_of(s, "OUT"), bias_dtype = dtype_of(s, "BIAS_TYPE");
  Operands operands(s, one.seed);
  const std::vector<std::int64_t> offsets = parts_of(one, grouped, of_rows);
  const std::int64_t all_rows = of_rows ? offsets.back() : one.rows;
  std::vector<std::uint8_t> want =
      drawn_out(operands.random, all_rows * one.cols, dtype, flag(s, "ACCUMULATE"));
  std::vector<std::uint8_t> bias;
  DeviceBuffer out(device, want.data(), want.size());
  std::vector<MemberDescriptor> lefts, rights;
  std::deque<Product> products;
  const float alpha = one.seed % 2 == 0 ? 1.0f : 0.3f;
  int bounds = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t rows = offsets[i + 1] - offsets[i];
    if (of_rows) operands.draw_depth(one.seed + i);
    if (of_rows && i == 1) operands.depth = 0;
    Product& product = products.emplace_back(operands, device, one, rows);
    // All members of a group have one bound.
    if (i > 0) product.gemm.a.bound = products[0].gemm.a.bound;
    if (i > 0) product.gemm.b.bound = products[0].gemm.b.bound;
    bounds = product.gemm.a.bound * product.gemm.b.bound;
    product.gemm.alpha = alpha;
    if (flag(s, "BIAS")) add_bias(product.gemm, operands.random, bias_dtype, bias);
    // The last block of a member's rows is taken whole.
    const std::int64_t depth = std::max<std::int64_t>(operands.depth - (of_rows ? i : 0), 0);
    lefts.push_back(operands.member(*product.a, of_rows ? depth : rows, of_rows));
    lefts.back().row_begin = offsets[i];
    const bool of_columns = word_of(s, "COLUMNWISE_OF") != "none";
    rights.push_back(operands.member(*product.b, of_columns ? depth : one.cols, of_columns));
    reference::gemm_nvfp4(product.gemm, want.data() + offsets[i] * one.cols * dtype_bits(dtype) / 8,
                          dtype);
  }
  const std::size_t descriptors = lefts.size() * sizeof(MemberDescriptor);
  DeviceBuffer left(device, lefts.data(), descriptors), right(device, rights.data(), descriptors);
  DeviceBuffer biases(device, bias.data(), bias.size());
  const Placed &a = *products[0].a, &b = *products[0].b;
  const auto alone = [&](const DeviceBuffer& buffer) -> const void* {
    return grouped ? nullptr : buffer.data_pointer();
  };
  const auto members = [&](const DeviceBuffer& buffer) -> const void* {
    return grouped ? buffer.data_pointer() : nullptr;
  };
  const auto stride = [&](const Placed& at) { return grouped ? 0 : at.scale_stride; };
  const args::GemmNvfp4 arguments{
      .a_codes = alone(a.codes),
      .a_scales = {alone(a.scales), stride(a)},
      .a_amax = alone(a.amax),
      .b_codes = alone(b.codes),
      .b_scales = {alone(b.scales), stride(b)},
      .b_amax = alone(b.amax),
      .bias = {bias_dtype, bias.empty() ? nullptr : biases.data_pointer()},
      .out = {dtype, out.data_pointer()},
      .a_members = members(left),
      .b_members = members(right),
      .rows = all_rows,
      .cols = one.cols,
      .depth = of_rows ? 0 : operands.depth,
      .count = grouped ? static_cast<std::int64_t>(lefts.size()) : 0,
      .member_rows = of_rows ? one.rows : 0,
      .alpha = alpha,
      .unit = 1.0f / static_cast<float>(36 * bounds)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

const RunnerFor<args::GemmNvfp4> gemm_nvfp4_runner{gemm_nvfp4_difference};

}  // namespace
}  // namespace diecast::variants
