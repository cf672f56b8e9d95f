// The slow half of the argument check: what is wrong, if anything. Every error has the kernel's
// spelling, the argument's name, what came and what the header takes.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>

#include <algorithm>

namespace diecast {
namespace {

using Kind = KernelArgument::Kind;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::tensor:
      return "a tensor";
    case Kind::size:
      return "a size";
    case Kind::device_size:
      return "a size in device memory";
    case Kind::scalar:
      return "a scalar";
    case Kind::bytes:
      break;
  }
  return "a structure's bytes";
}

const char* maker_name(Kind kind) {
  switch (kind) {
    case Kind::tensor:
      return "tensor";
    case Kind::size:
      return "size";
    case Kind::scalar:
      return "scalar";
    default:
      return "bytes";
  }
}

std::int64_t past_multiple(const void* data, std::int64_t align) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) %
                                   static_cast<std::uintptr_t>(align));
}

// What a header gives by an expression is another number in another specialization.
std::string or_with_less(std::string_view fact, const std::optional<Expression>& number) {
  if (!number || parse_integer(number->text())) return "";
  return cat(kOrSpecialize, "where less will do: ", fact, " ", number->text());
}

}  // namespace

Error ArgumentCheck::failure(ErrorCode code, std::size_t index, std::string what,
                             std::string fix) const {
  return {code, cat(spelling_, ": `", arguments_[index].name, "` ", what), std::move(fix)};
}

Error ArgumentCheck::wrong_count(std::size_t given) const {
  std::vector<std::string> names;
  for (const BoundArgument& argument : arguments_) names.push_back(argument.name);
  return {ErrorCode::invalid_argument,
          cat(spelling_, ": ", given, " arguments given; the kernel takes ", names.size()),
          cat("give these in order: ", join(names, ", "))};
}

Error ArgumentCheck::wrong_kind(std::size_t index, const KernelArgument& given) const {
  const Kind wanted = plans_[index].kind;
  return failure(
      ErrorCode::invalid_argument, index,
      cat("is given as ", kind_name(given.kind), "; the kernel takes ", kind_name(wanted)),
      cat("pass KernelArgument::", maker_name(wanted)));
}

Error ArgumentCheck::wrong_dtype(std::size_t index, DType given) const {
  const BoundArgument& argument = arguments_[index];
  const std::string_view wanted = dtype_name(argument.dtype);
  std::string fix = cat("pass ", argument.name, " as ", wanted);
  // The parameter that decides this type, if it allows what was given.
  const Parameter* type = template_->parameter(template_->argument(argument.name)->type);
  if (type && std::any_of(type->allowed.begin(), type->allowed.end(), [&](const Value& value) {
        return value.number == static_cast<std::int64_t>(given);
      }))
    fix += cat(kOrSpecialize, "with ", type->name, "=", dtype_name(given));
  return failure(ErrorCode::dtype_mismatch, index,
                 cat("is ", dtype_name(given), "; the kernel takes ", wanted), std::move(fix));
}

Error ArgumentCheck::wrong_size(std::size_t index, const KernelArgument& given) const {
  const BoundArgument& argument = arguments_[index];
  const bool on_device = given.kind == Kind::device_size;
  if (!on_device && given.kind != Kind::size) return wrong_kind(index, given);
  if (on_device && argument.fixed)
    return failure(
        ErrorCode::not_supported, index,
        cat("is in device memory, but was fixed at compile time as ", argument.fixed_value),
        cat("give ", argument.name, " as a host number"));
  if (on_device && !argument.device)
    return failure(ErrorCode::not_supported, index, "is in device memory",
                   cat("give ", argument.name, " as a host number, or say `size ", argument.name,
                       " device` in the template's header"));
  if (on_device && !given.data)
    return failure(ErrorCode::missing_buffer, index, "is a device size without an address",
                   "pass the device address of an int64");
  if (on_device && past_multiple(given.data, 8) != 0)
    return failure(ErrorCode::misaligned, index, "is not at a multiple of 8 bytes",
                   "put the int64 at an address that is a multiple of 8");
  if (given.number < 0)
    return failure(ErrorCode::invalid_argument, index, cat("is ", given.number),
                   "a size is 0 or more");
  const bool other_length = argument.fixed && given.number != argument.fixed_value;
  if (!on_device && !other_length && given.number % argument.divisible != 0)
    return failure(ErrorCode::shape_mismatch, index,
                   cat("is ", given.number, ", no multiple of ", argument.divisible,
                       ", which the kernel was made for"),
                   cat("give a multiple of ", argument.divisible,
                       or_with_less("divisible", template_->size(argument.name)->divisible)));
  return failure(
      ErrorCode::shape_mismatch, index,
      cat("is ", given.number, ", but was fixed at compile time as ", argument.fixed_value),
      cat("give ", argument.fixed_value, kOrSpecialize, "with ",
          template_->size(argument.name)->fixed_by, "=", given.number, ", or with 0 for any"));
}

Error ArgumentCheck::wrong_value(std::size_t index, const KernelArgument& given) const {
  const BoundArgument& argument = arguments_[index];
  if (given.kind != plans_[index].kind) return wrong_kind(index, given);
  if (given.kind == Kind::scalar) return wrong_dtype(index, given.dtype);
  if (!given.data)
    return failure(ErrorCode::missing_buffer, index, "is null",
                   cat("pass the host address of its ", argument.bytes, " bytes"));
  return failure(ErrorCode::shape_mismatch, index,
                 cat("has ", given.number, " bytes; the kernel takes ", argument.bytes),
                 "pass the structure that the template's header names");
}

Result<void> ArgumentCheck::check_tensor(std::size_t index, const KernelArgument& given,
                                         const LaunchSlots::Values& slots,
                                         std::int64_t* stride) const {
  if (given.kind != Kind::tensor) return wrong_kind(index, given);
  if (given.dtype != arguments_[index].dtype) return wrong_dtype(index, given.dtype);
  if (plans_[index].absent) return check_absent(index, given);
  DIECAST_CHECK(check_address(index, given, slots));
  if (!plans_[index].rows) return {};
  std::int64_t row = 0;
  if (!shapes_[index].back().evaluate(slots, &row))
    return failure(ErrorCode::shape_mismatch, index, "has a row length beyond 64 bits",
                   "pass smaller sizes");
  *stride = given.number == 0 ? row : given.number;
  return check_rows(index, *stride, row, slots);
}

Result<void> ArgumentCheck::check_absent(std::size_t index, const KernelArgument& given) const {
  if (!given.data) return {};
  const BoundArgument& argument = arguments_[index];
  return failure(ErrorCode::invalid_argument, index,
                 "is given, and the kernel was made for calls without it",
                 cat("pass a null ", argument.name, kOrSpecialize, "with ",
                     template_->argument(argument.name)->optional, "=1"));
}

// What nothing is read of may be anywhere.
Result<void> ArgumentCheck::check_address(std::size_t index, const KernelArgument& given,
                                          const LaunchSlots::Values& slots) const {
  const BoundArgument& argument = arguments_[index];
  const std::int64_t past = past_multiple(given.data, argument.align);
  if ((given.data && past == 0) || empty(index, slots)) return {};
  const std::string& optional = template_->argument(argument.name)->optional;
  if (!given.data)
    return failure(ErrorCode::missing_buffer, index, "is null",
                   cat("pass device memory for ", argument.name,
                       optional.empty() ? "; only a tensor without elements may be null"
                                        : cat(kOrSpecialize, "with ", optional, "=0")));
  return failure(ErrorCode::misaligned, index,
                 cat("starts ", past, " bytes past a multiple of ", argument.align),
                 cat("start it at a multiple of ", argument.align, " bytes",
                     or_with_less("align", template_->argument(argument.name)->align)));
}

Result<void> ArgumentCheck::check_rows(std::size_t index, std::int64_t stride, std::int64_t row,
                                       const LaunchSlots::Values& slots) const {
  const BoundArgument& argument = arguments_[index];
  if (stride < 0)
    return failure(ErrorCode::invalid_argument, index, cat("has a row stride of ", stride),
                   "a row stride is a number of elements, or 0 for dense rows");
  if (!several_rows(index, slots) || empty(index, slots)) return {};
  if (stride < row)
    return failure(ErrorCode::shape_mismatch, index,
                   cat("has rows of ", row, " elements, but only ", stride, " apart"),
                   cat("give a row stride of at least ", row, " elements"));
  if (stride > row && !argument.stride) {
    const auto& apart = template_->argument(argument.name)->stride;
    const bool read = argument.direction != Argument::Direction::out;
    return failure(
        ErrorCode::shape_mismatch, index,
        cat("has rows ", stride, " elements apart; the kernel takes dense rows of ", row),
        cat(read ? "copy " : "give ", argument.name, read ? " to" : "", " dense rows",
            apart ? cat(kOrSpecialize, "where they may be apart: ", apart->text()) : ""));
  }
  const std::int64_t bytes = plans_[index].element_bytes;
  const std::int64_t step = std::max<std::int64_t>(1, argument.align / bytes);
  if (stride % step == 0) return {};
  return failure(ErrorCode::misaligned, index,
                 cat("has rows ", stride, " elements of ", bytes, " bytes apart, no multiple of ",
                     argument.align, " bytes"),
                 cat("make the row stride a multiple of ", step, " elements",
                     or_with_less("align", template_->argument(argument.name)->align)));
}

bool ArgumentCheck::empty(std::size_t index, const LaunchSlots::Values& slots) const {
  std::int64_t extent = 1;
  return std::any_of(shapes_[index].begin(), shapes_[index].end(), [&](const Program& program) {
    return program.evaluate(slots, &extent) && extent == 0;
  });
}

bool ArgumentCheck::several_rows(std::size_t index, const LaunchSlots::Values& slots) const {
  std::int64_t extent = 1;
  return std::any_of(shapes_[index].begin(), shapes_[index].end() - 1, [&](const Program& program) {
    return !program.evaluate(slots, &extent) || extent > 1;
  });
}

}  // namespace diecast
