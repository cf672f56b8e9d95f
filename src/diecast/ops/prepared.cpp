// What prepared ops share; see prepared.h.
#include <diecast/base/text.h>
#include <diecast/ops/prepared.h>

#include <algorithm>

namespace diecast {
namespace {

// A tensor of an element type that the kernel is not made for, by the kernel's name for it.
std::optional<Error> wrong_element_type(const Template& tmpl, const Bindings& bindings) {
  for (const Argument& argument : tmpl.arguments()) {
    const Parameter* const type = tmpl.parameter(argument.type);
    const Value* const given = bindings.find(argument.type);
    if (type == nullptr || given == nullptr || type->type != ParameterType::type) continue;
    if (type->check(*given)) continue;
    return Error{ErrorCode::dtype_mismatch,
                 cat(tmpl.name(), ": ", argument.name, " is ", given->spelling()),
                 cat("give ", argument.name, " as ", type->allowed_text())};
  }
  return std::nullopt;
}

// The word of ROWS for a promise, as the template has it: a weaker promise holds as well.
std::string_view known_promise(const Parameter& rows, std::string_view promise) {
  bool reached = false;
  for (const std::string_view weaker : words_of(RowsClass{})) {
    reached = reached || weaker == promise;
    const bool known =
        std::ranges::any_of(rows.allowed, [&](const Value& value) { return value.word == weaker; });
    if (reached && known) return weaker;
  }
  return promise;
}

}  // namespace

Bindings bindings_for(const Template& tmpl, const KernelWanted& wanted) {
  Bindings out = wanted.bindings;
  for (const auto& [name, value] : wanted.fields.entries()) {
    const Parameter* const parameter = tmpl.parameter(name);
    if (parameter == nullptr || out.find(name) != nullptr) continue;
    if (name == "ROWS")
      out.set(name, known_promise(*parameter, value.word));
    else if (parameter->type == ParameterType::enumeration)
      out.set(name, std::string_view(value.word));
    else
      out.set(name, value);
  }
  return out;
}

namespace {

// `specialize`: from bindings of the template.
Result<Specialization> specialization_of(Runtime& runtime, const KernelWanted& wanted,
                                         auto&& specialize) {
  DIECAST_TRY(const auto tmpl, runtime.find_template(wanted.name));
  const Bindings bindings = bindings_for(*tmpl, wanted);
  Result<Specialization> made = specialize(bindings);
  if (made || made.error().code != ErrorCode::value_not_allowed) return made;
  if (auto wrong = wrong_element_type(*tmpl, bindings)) return *std::move(wrong);
  return made;
}

Result<Specialization> specialization_for(Runtime& runtime, Device& device,
                                          const KernelWanted& wanted) {
  return specialization_of(runtime, wanted, [&](const Bindings& bindings) {
    return runtime.specialize_for(wanted.name, bindings, device);
  });
}

// What a request would say for a kernel to take what `what` refuses; "": nothing would do.
std::string other_fields(std::string_view op, std::string_view what,
                         const RequestedRows& requested) {
  const auto is_about = [&](std::string_view argument) {
    return what.starts_with(cat(op, ": `", argument, "` "));
  };
  const bool of_length = is_about(requested.length), fixed = of_length && requested.cols != 0;
  if (!of_length && !is_about(requested.argument)) return "";
  RowsClass rows = of_length && !fixed ? RowsClass::any : requested.rows;
  if (requested.tensor != nullptr) rows = std::max(rows, rows_class(*requested.tensor));
  std::string fields = fixed ? "cols = 0" : "";
  if (rows <= requested.rows) return fields;
  if (fixed) fields += " and ";
  return fields += rows == RowsClass::any ? std::string(requested.any)
                                          : cat("rows = RowsClass::", word(rows));
}

}  // namespace

Result<void> check_kernels(Runtime& runtime, std::span<const KernelWanted> all,
                           const Target& target) {
  for (const KernelWanted& wanted : all)
    DIECAST_CHECK(specialization_of(runtime, wanted, [&](const Bindings& bindings) {
      return runtime.specialize(wanted.name, bindings, target);
    }));
  return {};
}

KernelArgument address_argument(const void* pointer) {
  return KernelArgument::scalar(
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(pointer)));
}

Error not_prepared(std::string_view op) {
  return {ErrorCode::not_resident,
          cat(op, " is not prepared: this op was made by default or moved from"),
          "run the op that its prepare() returned"};
}

void tell_of_op(Result<void>& launched, std::string_view op, const Kernel& kernel,
                const RequestedRows& requested) {
  Error error = std::move(launched).error();
  const std::string said = cat(kernel.specialization().spelling(), ": ");
  if (error.what.starts_with(said)) {  // of its arguments
    error.what.replace(0, said.size(), cat(op, ": "));
    const std::size_t alternative = error.fix.find(kOrSpecialize);
    if (alternative != error.fix.npos) error.fix.erase(alternative);
    const bool of_type = error.code == ErrorCode::dtype_mismatch;
    const std::string fields = of_type ? "" : other_fields(op, error.what, requested);
    if (!fields.empty()) error.fix += cat(", or prepare with Request.", fields);
    if (of_type && alternative != error.fix.npos) error.fix += ", or prepare another op for it";
  }
  constexpr std::string_view kPreload = "call preload()";  // which prepare() does
  if (error.code == ErrorCode::not_resident && error.fix.starts_with(kPreload))
    error.fix.replace(0, kPreload.size(), cat("prepare ", op));
  launched = std::move(error);
}

Result<void> check_maxima(std::string_view op, std::string_view name, const float* result,
                          std::int64_t count) {
  if (result == nullptr && count > 0) {
    return Error{ErrorCode::missing_buffer, cat(op, ": the ", name, " is null"),
                 cat("pass device memory for f32 [", count, "]")};
  }
  if (reinterpret_cast<std::uintptr_t>(result) % alignof(float) == 0) return {};
  return Error{ErrorCode::misaligned, cat(op, ": the ", name, " is not at a multiple of 4 bytes"),
               "allocate it as f32"};
}

Error other_input(std::string_view op, DType given, DType prepared) {
  return {ErrorCode::dtype_mismatch,
          cat(op, ": x is ", dtype_name(given), ", prepared for ", dtype_name(prepared)),
          cat("pass x as ", dtype_name(prepared), ", or prepare another op for this input")};
}

Result<std::shared_ptr<Device>> device_or_default(Runtime& runtime,
                                                  const std::shared_ptr<Device>& given) {
  if (given != nullptr) return given;
  return runtime.default_device();
}

Result<std::shared_ptr<Kernel>> preload_for(Runtime& runtime, const std::shared_ptr<Device>& device,
                                            const KernelWanted& wanted) {
  DIECAST_CHECK(check_device(device));
  DIECAST_TRY(const Specialization specialization, specialization_for(runtime, *device, wanted));
  return runtime.preload(specialization, device);
}

Result<std::vector<std::shared_ptr<Kernel>>> preload_all_for(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             std::span<const KernelWanted> all) {
  DIECAST_CHECK(check_device(device));
  std::vector<Specialization> specializations;
  for (const KernelWanted& wanted : all) {
    DIECAST_TRY(specializations.emplace_back(), specialization_for(runtime, *device, wanted));
  }
  return runtime.preload(specializations, device);
}

Result<void> may_prepare(Device& device, Stream stream, std::string_view op) {
  DIECAST_TRY(const bool capturing, device.is_capturing(stream));
  if (!capturing) return {};
  return Error{ErrorCode::not_resident,
               cat(op, " is not prepared, and the stream is being captured"),
               cat("prepare it, or call it once with the same options, before the capture begins")};
}

}  // namespace diecast
