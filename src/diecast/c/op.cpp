// What all ops of the C interface share, and the interface's functions of ops; see op.h.
#include <diecast/base/text.h>
#include <diecast/c/apart.h>
#include <diecast/c/op.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace diecast::c {
namespace {

// The fields behind a structure's size: one address a tensor.
std::span<const diecast_tensor*> fields(const diecast_op_info& info, void* tensors) {
  auto* const first = static_cast<char*>(tensors) + sizeof(std::size_t);
  return {reinterpret_cast<const diecast_tensor**>(first), info.tensor_count};
}

bool is_written(const diecast_op_tensor& tensor) {
  return tensor.role == DIECAST_OUTPUT || tensor.role == DIECAST_SCRATCH;
}

struct PreparedObject : Object {
  static constexpr Kind kKind = Kind::op;
  explicit PreparedObject(std::unique_ptr<PreparedCall> it) : Object(kKind), call(std::move(it)) {}
  std::unique_ptr<PreparedCall> call;
};

}  // namespace

void Outputs::add(std::string_view field, DType type, const Shape& shape) {
  diecast_output out{};
  while (info_.tensors[out.index].name != field) ++out.index;
  out.dtype = dtype_name(type).data();
  out.ndim = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, out.shape);
  all_.push_back(out);
}

Result<void> check_tensors(const diecast_op_info& info, const void* tensors, const Device* device,
                           std::string_view in_place) {
  const auto given = fields(info, const_cast<void*>(tensors));
  constexpr std::size_t kMost = 32;
  std::array<PlacedTensor, kMost> placed;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string_view field = info.tensors[i].name;
    placed[i] = {field, {}, is_written(info.tensors[i]), field == in_place};
    if (given[i] == nullptr) continue;
    const TensorName name{info.name, info.tensors[i].name};
    DIECAST_TRY(placed[i].extent, check_tensor(*given[i], name));
    if (device != nullptr) DIECAST_CHECK(check_place(*given[i], *device, name));
  }
  return check_apart(info.name, std::span(placed).first(given.size()));
}

Result<void> check_dtype(const char* dtype, const diecast_tensor* out, std::string_view op) {
  if (dtype == nullptr || out == nullptr) return {};
  DIECAST_TRY(const FloatType type, read_word<FloatType>(dtype, op, "dtype"));
  if (dtype_of(*out) == parse_dtype(word(type))) return {};
  return Error{ErrorCode::dtype_mismatch,
               cat(op, ": dtype is ", word(type), ", and out is ", type_text(*out)),
               "leave dtype out: out says its own type"};
}

Result<void> check_sizes(const Outputs& outputs) {
  const diecast_op_info& info = outputs.info();
  for (const diecast_output& output : outputs.all()) {
    const std::span shape(output.shape, static_cast<std::size_t>(output.ndim));
    std::int64_t bytes = dtype_bits(*parse_dtype(output.dtype)) / 8;
    for (const std::int64_t size : shape)  // as frameworks count an empty tensor's too
      bytes = capped_product(bytes, std::max(size, std::int64_t{1}));
    if (bytes < std::numeric_limits<std::int64_t>::max()) continue;
    return Error{ErrorCode::shape_mismatch,
                 cat(info.name, ": ", info.tensors[output.index].name, " would be ", output.dtype,
                     " ", Shape(shape).text(), ", which no memory holds"),
                 "pass a smaller tensor, or smaller sizes"};
  }
  return {};
}

void StandIns::fill(const diecast_op_info& info, void* tensors, const Outputs& outputs) {
  const auto all = outputs.all();
  shapes_.assign(all.begin(), all.end());
  tensors_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    diecast_output& shape = shapes_[i];
    diecast_tensor& tensor = tensors_[i];
    tensor = {};
    tensor.data = reinterpret_cast<void*>(std::uintptr_t{4096});
    tensor.ndim = shape.ndim;
    tensor.shape = shape.shape;
    set_type(tensor, *parse_dtype(shape.dtype));
    const diecast_tensor*& field = fields(info, tensors)[shape.index];
    if (field == nullptr) field = &tensor;
  }
}

std::span<const BoundOp* const> every_op() {
  static const auto& all = *new auto(std::to_array<const BoundOp*>({
#define DIECAST_C_ADDRESS(number, name, TABLE, what) &bound::name(),
      DIECAST_OPS(DIECAST_C_ADDRESS)
#undef DIECAST_C_ADDRESS
  }));
  return all;
}

[[gnu::hot]] Result<const BoundOp*> find_op(std::uint32_t number) {
  const auto all = every_op();
  const std::size_t usual = number - std::size_t{1};  // numbers are in order, with no gap so far
  if (usual < all.size() && all[usual]->info->number == number) return all[usual];
  return Error{ErrorCode::not_supported, cat("there is no op ", number),
               cat("pass a number from 1 to ", all.size(), ", as diecast_op_quantize_nvfp4")};
}

}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_op_describe(std::uint32_t op, const diecast_op_info** info) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(info, "diecast_op_describe", "info"));
    DIECAST_TRY(const BoundOp* const found, find_op(op));
    *info = found->info;
    return {};
  });
}

std::int32_t diecast_op_find(const char* name, std::uint32_t* op) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(name, "diecast_op_find", "name"));
    DIECAST_CHECK(check_given(op, "diecast_op_find", "op"));
    std::vector<std::string> names;
    for (const BoundOp* const each : every_op()) {
      if (std::string_view(each->info->name) == name) {
        *op = each->info->number;
        return {};
      }
      names.emplace_back(each->info->name);
    }
    return Error{ErrorCode::not_supported,
                 cat("no op is named ", quote(name, 40), did_you_mean(name, names)),
                 cat("name one of ", join(names, ", "))};
  });
}

std::int32_t diecast_op_outputs(std::uint32_t op, const void* tensors, const void* options,
                                diecast_output* outputs, std::size_t capacity, std::size_t* count) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(count, "diecast_op_outputs", "count"));
    DIECAST_TRY(const BoundOp* const found, find_op(op));
    Outputs all(*found->info);
    DIECAST_CHECK(found->outputs(tensors, options, all));
    *count = all.all().size();
    if (capacity < *count || outputs == nullptr) {
      return Error{ErrorCode::shape_mismatch,
                   cat(found->info->name, " has ", *count, " outputs, and room for ", capacity),
                   cat("pass an array of ", found->info->tensor_count)};
    }
    std::copy(all.all().begin(), all.all().end(), outputs);
    return {};
  });
}

std::int32_t diecast_op_check(diecast_handle runtime, std::uint32_t op, const void* tensors,
                              const void* options) {
  return at_border([&]() -> Result<void> {
    DIECAST_TRY(const BoundOp* const found, find_op(op));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, "diecast_op_check"));
    return found->check(*with->runtime, tensors, options);
  });
}

[[gnu::hot]] std::int32_t diecast_op_call(diecast_handle runtime, diecast_handle device,
                                          std::uint32_t op, const void* tensors,
                                          const void* options, void* stream,
                                          std::int32_t found_only) {
  bool called = false;
  const std::int32_t code = at_border([&]() -> Result<void> {
    DIECAST_TRY(const BoundOp* const found, find_op(op));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, found->info->name));
    UsedDevice on;
    DIECAST_CHECK(on.take(device, *with->runtime, found->info->name));
    DIECAST_TRY(called, found->call(runtime, *with->runtime, on.device(), tensors, options,
                                    Stream{stream}, found_only != 0));
    return {};
  });
  return code == diecast_ok && !called ? std::int32_t{DIECAST_NOT_PREPARED} : code;
}

std::int32_t diecast_op_prepare(diecast_handle runtime, diecast_handle device, std::uint32_t op,
                                const void* tensors, const void* options,
                                diecast_handle* prepared) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(prepared, "diecast_op_prepare", "prepared"));
    DIECAST_TRY(const BoundOp* const found, find_op(op));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, "diecast_op_prepare"));
    DIECAST_TRY(const auto on, device_of(device, *with->runtime, "diecast_op_prepare"));
    DIECAST_TRY(auto made, found->prepare(*with->runtime, on, tensors, options));
    return open_as<PreparedObject>(prepared, std::move(made));
  });
}

[[gnu::hot]] std::int32_t diecast_op_run(diecast_handle prepared, const void* tensors,
                                         const void* options, void* stream) {
  return at_border([&]() -> Result<void> {
    Used<PreparedObject> op;
    DIECAST_CHECK(op.take(prepared, "diecast_op_run"));
    return op->call->run(tensors, options, Stream{stream});
  });
}

}  // extern "C"
