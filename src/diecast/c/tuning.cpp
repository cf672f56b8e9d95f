// Tuning of the C interface.
#include <diecast/base/text.h>
#include <diecast/c/kernel_arguments.h>
#include <diecast/c/objects.h>
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/tuning/extents.h>

#include <algorithm>
#include <span>

namespace diecast::c {
namespace {

// "rows=16 cols=4096", one point a line.
Result<std::vector<RunSizes>> sizes_of(std::string_view text) {
  std::vector<RunSizes> out;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    RunSizes& sizes = out.emplace_back();
    for (const std::string_view word : words(line)) {
      const std::size_t equals = std::min(word.find('='), word.size() - 1);
      const auto number = parse_integer(word.substr(equals + 1));
      if (equals == 0 || !number || *number < 0) {
        return Error{ErrorCode::parse_error, cat("diecast_tune: ", quote(word, 40), " is no size"),
                     "write NAME=NUMBER, as rows=16 cols=4096"};
      }
      sizes.emplace_back(word.substr(0, equals), *number);
    }
  }
  return out;
}

// A tensor of the shape that the header has at each point.
Result<KernelArgument> tensor_given(const Specialization& kernel, const BoundArgument& wanted,
                                    const diecast_argument& given, const Device& device,
                                    std::span<const RunSizes> sizes) {
  const TensorName name{kernel.tmpl().name(), wanted.name};
  if (given.kind != DIECAST_TENSOR || given.tensor == nullptr)
    return Error{ErrorCode::invalid_argument, cat(name.text(), ": it is a tensor"),
                 "pass a tensor"};
  DIECAST_CHECK(check_tensor(*given.tensor, name));
  DIECAST_CHECK(check_place(*given.tensor, device, name));
  const std::optional<DType> type = dtype_of(*given.tensor);
  if (type != wanted.dtype)
    return Error{ErrorCode::dtype_mismatch, cat(name.text(), ": it is ", type_text(*given.tensor)),
                 cat("pass ", dtype_name(wanted.dtype))};
  const Shape shape = shape_of(*given.tensor);
  for (const RunSizes& at : sizes) {
    DIECAST_TRY(const auto extents, extents_at(kernel, wanted, at));
    if (std::ranges::equal(extents, std::span(shape.dims).first(shape.rank))) continue;
    return Error{
        ErrorCode::shape_mismatch,
        cat(name.text(), ": it is ", shape.text(), ", and another shape at ", run_sizes_text(at)),
        "pass the sizes for which it is meant"};
  }
  return KernelArgument::tensor(*type, data_of(given.tensor), row_stride_of(*given.tensor));
}

Result<KernelArgument> value_given(const Specialization& kernel, const BoundArgument& wanted,
                                   const diecast_argument& given, const Device& device,
                                   std::span<const RunSizes> sizes) {
  if (wanted.kind == Argument::Kind::tensor)
    return tensor_given(kernel, wanted, given, device, sizes);
  if (wanted.kind == Argument::Kind::scalar)
    return scalar_of({kernel.tmpl().name(), wanted.name}, wanted.dtype, given);
  if (given.kind == DIECAST_BYTES && given.integer == wanted.bytes)
    return KernelArgument::bytes(given.bytes, static_cast<std::size_t>(wanted.bytes));
  return Error{ErrorCode::invalid_argument,
               cat(kernel.tmpl().name(), ": ", wanted.name, ": it is a structure of ", wanted.bytes,
                   " bytes"),
               "pass its bytes"};
}

Result<GivenArguments> arguments_given(const Specialization& kernel,
                                       std::span<const diecast_argument> given,
                                       const Device& device, std::span<const RunSizes> sizes) {
  GivenArguments out;
  for (const diecast_argument& one : given) {
    const std::string name = one.name == nullptr ? "" : one.name;
    out.emplace_back(name, KernelArgument::scalar(0.0f));
    DIECAST_CHECK(check_given(kernel.tmpl(), out));
    const auto& all = kernel.arguments();
    const auto wanted = std::ranges::find(all, name, &BoundArgument::name);
    DIECAST_TRY(out.back().second, value_given(kernel, *wanted, one, device, sizes));
  }
  return out;
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_tune(diecast_handle runtime, diecast_handle device, const char* spelling,
                          const char* sizes, diecast_line_callback on_record, void* user) {
  return diecast_tune_given(runtime, device, spelling, sizes, nullptr, 0, on_record, user);
}

std::int32_t diecast_tune_given(diecast_handle runtime, diecast_handle device, const char* spelling,
                                const char* sizes, const diecast_argument* given, std::size_t count,
                                diecast_line_callback on_record, void* user) {
  return with_runtime(runtime, "diecast_tune", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_tune", "spelling"));
    DIECAST_CHECK(check_given(sizes, "diecast_tune", "sizes"));
    DIECAST_TRY(const auto on, device_of(device, with, "diecast_tune"));
    DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
    TuneRequest request;
    request.name = parsed.name;
    DIECAST_TRY(request.bindings, bindings_of(parsed));
    DIECAST_TRY(request.sizes, sizes_of(sizes));
    if (count > 0) {
      DIECAST_CHECK(check_given(given, "diecast_tune", "given"));
      DIECAST_TRY(const Specialization kernel, with.specialize_for(spelling, *on));
      DIECAST_TRY(request.given, arguments_given(kernel, {given, count}, *on, request.sizes));
    }
    request.on_record = [&](const TuningRecord& record) -> Result<void> {
      const InCallback inside;
      if (on_record != nullptr) on_record(user, record.line().c_str());
      return {};
    };
    DIECAST_TRY(auto records, with.tune(request, on));
    with.add_tuning(std::move(records));
    return {};
  });
}

std::int32_t diecast_tuning_add(diecast_handle runtime, const char* records) {
  return with_runtime(runtime, "diecast_tuning_add", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(records, "diecast_tuning_add", "records"));
    TuningFile file = parse_tuning_file(records);
    if (!file.wrong.empty()) {
      return Error{ErrorCode::parse_error, cat("diecast_tuning_add: ", file.wrong.front()),
                   "pass lines that diecast_tune or `diecast tune` wrote"};
    }
    with.add_tuning(std::move(file.records));
    return {};
  });
}

}  // extern "C"
