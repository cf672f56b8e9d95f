// Ops over the members of a group as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/mx_options.h>
#include <diecast/c/ops/nvfp4_options.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/mx/quantize_mx_grouped.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_grouped.h>

#include <algorithm>

namespace diecast::c {
namespace {

// A group of x's rows. Its offsets are on the device, so that sizes are those of any offsets.
template <class Tensors>
Result<QuantizedGroup> read_group(const Tensors& t, const Tensor& x, const QuantizedType& type,
                                  std::string_view op) {
  QuantizedGroup group;
  DIECAST_TRY(group.device_row_offsets, integers_of(t.row_offsets, 1, {op, "row_offsets"}));
  group.count = elements_of(*t.row_offsets) - 1;
  group.whole.type = type;
  group.whole.shape = Shape{x.rows(), x.cols()};
  if (t.row_counts == nullptr) return group;
  if (dtype_of(*t.row_counts) != DType::i32 || row_stride_of(*t.row_counts) != 0) {
    return Error{ErrorCode::dtype_mismatch, cat(op, ": row_counts is ", type_text(*t.row_counts)),
                 "pass i32, one behind another"};
  }
  if (elements_of(*t.row_counts) != group.count) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(op, ": ", group.count, " members, and ", elements_of(*t.row_counts), " row counts"),
        "pass a row count for each member"};
  }
  group.device_row_counts = static_cast<const std::int32_t*>(data_of(t.row_counts));
  return group;
}

// The rowwise outputs and the descriptors of a call.
template <class Tensors>
Result<void> read_outputs(QuantizedGroup& group, const Tensors& t, std::string_view op) {
  if (t.out_data == nullptr) {
    return Error{ErrorCode::missing_buffer, cat(op, ": out_data is not given"),
                 "pass out_data and out_scale"};
  }
  DIECAST_CHECK(
      read_side(group.whole, false, t.out_data, t.out_scale, op, "out_data", "out_scale"));
  DIECAST_TRY(const DenseBytes members, bytes_of(t.members, {op, "members"}));
  const std::int64_t need =
      capped_product(group.count, static_cast<std::int64_t>(sizeof(MemberDescriptor)));
  if (members.count < need) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": members has ", members.count, " bytes, not ", need),
                 cat("pass ", need, " bytes")};
  }
  group.members = static_cast<MemberDescriptor*>(members.data);
  return {};
}

Result<void> add_outputs(Outputs& out, const QuantizedGroup& group, bool finds_amax) {
  const QuantizedTensor& whole = group.whole;
  DIECAST_TRY(const QuantizedSide sizes, group.rowwise_sizes());
  const bool nvfp4 = whole.type.format == Format::nvfp4;
  const std::int64_t tile = scale_tile_cols(whole.type.layout);
  const std::int64_t blocks =
      capped_product(ceil_div(ceil_div(whole.cols(), whole.type.block()), tile), tile);
  out.add("out_data", code_type(whole.type.format),
          Shape{whole.rows(), row_bytes(whole.type.format, whole.cols())});
  out.add("out_scale", nvfp4 ? DType::e4m3 : DType::e8m0,
          Shape{sizes.scale_bytes / std::max(blocks, std::int64_t{1}), blocks});
  if (finds_amax) out.add("out_amax", DType::f32, Shape{sizes.amax_count});
  out.add("members", DType::u8,
          Shape{capped_product(group.count, static_cast<std::int64_t>(sizeof(MemberDescriptor)))});
  return {};
}

struct BoundQuantizeNvfp4Grouped : line::quantize_nvfp4_grouped {
  using Prepared = PreparedQuantizeNvfp4Grouped;
  struct Views {
    Tensor x;
    QuantizedGroup group;
    QuantizeNvfp4GroupedOptions options;
  };

  static Result<Views> read(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const QuantizedType type, nvfp4_type(o, kName));
    DIECAST_TRY(v.group, read_group(t, v.x, type, kName));
    DIECAST_CHECK(read_nvfp4_options(v.options, t, o, kName));
    return v;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    DIECAST_TRY(Views v, read(t, o));
    DIECAST_CHECK(read_outputs(v.group, t, kName));
    DIECAST_TRY(const GivenScale given, given_scale(t.amax, t.encode, t.decode, kName));
    v.options.global = given.global;
    v.options.amax_given = given.tensor != nullptr && given.global == GlobalScale::amax;
    QuantizedSide& side = v.group.whole.rowwise;
    side.amax_count = v.group.whole.type.row_scaled ? v.x.rows() : v.group.count;
    DIECAST_TRY(side.amax,
                floats_of(given.tensor != nullptr ? given.tensor : t.out_amax, side.amax_count,
                          {kName, given.tensor != nullptr ? "amax" : "out_amax"}));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Views v, read(t, o));
    const bool given = t.amax != nullptr || t.encode != nullptr || t.decode != nullptr;
    return add_outputs(out, v.group, !given);
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.group.whole, v.options, v.options.described);
  }
  static Result<void> check(const Views& v) { return check_quantize_nvfp4_grouped(v.x, v.group); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::quantize_nvfp4_grouped(runtime, v.x, v.group, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.group, stream, {}, v.options.rng_state);
  }
};

struct BoundQuantizeMxGrouped : line::quantize_mx_grouped {
  using Prepared = PreparedQuantizeMxGrouped;
  struct Views {
    Tensor x;
    QuantizedGroup group;
    QuantizeMxGroupedOptions options;
  };

  static Result<Views> read(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(QuantizedType type, mx_type(o, kName));
    DIECAST_TRY(type.profile, read_word<Profile>(o.profile, kName, "profile"));
    DIECAST_TRY(v.options.mode, read_word<MxMode>(o.mode, kName, "mode"));
    DIECAST_TRY(v.group, read_group(t, v.x, type, kName));
    return v;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    DIECAST_TRY(Views v, read(t, o));
    DIECAST_CHECK(read_outputs(v.group, t, kName));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Views v, read(t, o));
    return add_outputs(out, v.group, false);
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.group.whole, v.options.mode, v.options.described);
  }
  static Result<void> check(const Views& v) { return check_quantize_mx_grouped(v.x, v.group); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::quantize_mx_grouped(runtime, v.x, v.group, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.group, stream);
  }
};

}  // namespace

const BoundOp& bound::quantize_nvfp4_grouped() { return bound_op<BoundQuantizeNvfp4Grouped>(); }
const BoundOp& bound::quantize_mx_grouped() { return bound_op<BoundQuantizeMxGrouped>(); }

}  // namespace diecast::c
