// What a wrong argument of a launch is told: the kernel's spelling, the argument's name, what came
// and what the header takes.
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

}  // namespace

Error ArgumentCheck::failure(ErrorCode code, const Plan& plan, std::string what,
                             std::string fix) const {
  return {code, cat(spelling_, ": `", plan.argument.name, "` ", what), std::move(fix)};
}

Error ArgumentCheck::wrong_count(std::size_t given) const {
  std::vector<std::string> names;
  for (const Plan& plan : plans_) names.push_back(plan.argument.name);
  return {ErrorCode::invalid_argument,
          cat(spelling_, ": ", given, " arguments given; the kernel takes ", plans_.size()),
          cat("give these in order: ", join(names, ", "))};
}

Error ArgumentCheck::wrong_kind(const Plan& plan, const KernelArgument& given) const {
  return failure(
      ErrorCode::invalid_argument, plan,
      cat("is given as ", kind_name(given.kind), "; the kernel takes ", kind_name(plan.kind)),
      cat("pass KernelArgument::", plan.kind == Kind::tensor   ? "tensor"
                                   : plan.kind == Kind::size   ? "size"
                                   : plan.kind == Kind::scalar ? "scalar"
                                                               : "bytes"));
}

Error ArgumentCheck::wrong_dtype(const Plan& plan, DType given) const {
  const std::string_view wanted = dtype_name(plan.argument.dtype);
  std::string fix = cat("pass ", plan.argument.name, " as ", wanted);
  // The parameter that decides this type, if it allows what was given.
  const Parameter* type = template_->parameter(template_->argument(plan.argument.name)->type);
  if (type && std::any_of(type->allowed.begin(), type->allowed.end(), [&](const Value& value) {
        return value.number == static_cast<std::int64_t>(given);
      }))
    fix += cat(", or specialize with ", type->name, "=", dtype_name(given));
  return failure(ErrorCode::dtype_mismatch, plan,
                 cat("is ", dtype_name(given), "; the kernel takes ", wanted), std::move(fix));
}

}  // namespace diecast
