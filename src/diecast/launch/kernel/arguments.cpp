// A launch with a wrong pointer costs the whole CUDA context, so everything that can be known
// without the device is checked, in a few nanoseconds an argument; only errors cost more.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>

#include <algorithm>

namespace diecast {
namespace {

using Kind = KernelArgument::Kind;

Kind expected_kind(Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::tensor:
      return Kind::tensor;
    case Argument::Kind::size:
      return Kind::size;
    case Argument::Kind::scalar:
      return Kind::scalar;
    default:
      return Kind::bytes;
  }
}

bool misaligned(const void* data, std::int64_t align) {
  return (reinterpret_cast<std::uintptr_t>(data) & static_cast<std::uintptr_t>(align - 1)) != 0;
}

}  // namespace

Result<ArgumentCheck> ArgumentCheck::make(const Specialization& specialization,
                                          const LaunchSlots& slots) {
  ArgumentCheck check;
  check.template_ = specialization.shared_template();
  check.spelling_ = specialization.spelling();
  const Names names = specialization.names();
  for (const BoundArgument& argument : specialization.arguments())
    DIECAST_CHECK(check.add(argument, slots, names));
  if (std::max(check.parameter_bytes_.size(), check.plans_.size()) <= PackedParameters::kMost)
    return check;
  return Error{ErrorCode::not_supported,
               cat(specialization.tmpl().name(), " has ", check.parameter_bytes_.size(),
                   " kernel parameters"),
               cat("a kernel may have ", PackedParameters::kMost,
                   " of them; put some into a struct argument")};
}

Result<void> ArgumentCheck::add(const BoundArgument& argument, const LaunchSlots& slots,
                                const Names& names) {
  Plan plan;
  plan.argument = argument;
  plan.kind = expected_kind(argument.kind);
  if (plan.kind == Kind::tensor || plan.kind == Kind::scalar)
    plan.element_bytes = dtype_bits(argument.dtype) / 8;
  for (const Expression& extent : argument.shape) {
    DIECAST_TRY(Program program, slots.compile(extent, names));
    plan.shape.push_back(std::move(program));
  }
  plan.rows = plan.kind == Kind::tensor && (argument.stride || plan.shape.size() > 1);
  if (plan.kind == Kind::tensor) {
    parameter_bytes_.push_back(sizeof(void*));
    if (argument.stride) parameter_bytes_.push_back(sizeof(std::int64_t));
  } else if (plan.kind == Kind::size) {
    plan.slot = argument.fixed ? -1 : *slots.find(argument.name);
    if (!argument.fixed) parameter_bytes_.push_back(argument.device ? 16 : 8);
  } else {
    parameter_bytes_.push_back(
        static_cast<std::size_t>(plan.kind == Kind::scalar ? plan.element_bytes : argument.bytes));
  }
  plans_.push_back(std::move(plan));
  return {};
}

Result<void> ArgumentCheck::pack(std::span<const KernelArgument> arguments,
                                 LaunchSlots::Values& slots, PackedParameters& packed) const {
  if (arguments.size() != plans_.size()) return wrong_count(arguments.size());
  // Sizes first: the shapes of tensors depend on them.
  for (std::size_t i = 0; i < plans_.size(); ++i)
    if (plans_[i].kind == Kind::size)
      DIECAST_CHECK(take_size(plans_[i], arguments[i], slots, packed.cells[i]));
  std::size_t next = 0;
  const auto put = [&](const void* value) { packed.pointers[next++] = const_cast<void*>(value); };
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Plan& plan = plans_[i];
    const KernelArgument& given = arguments[i];
    if (plan.kind == Kind::tensor) {
      DIECAST_CHECK(check_tensor(plan, given, slots, &packed.cells[i].value));
      put(&given.data);
      if (plan.argument.stride) put(&packed.cells[i].value);
    } else if (plan.kind != Kind::size) {
      DIECAST_CHECK(check_value(plan, given));
      put(plan.kind == Kind::scalar ? static_cast<const void*>(&given.number) : given.data);
    } else if (plan.argument.device) {
      put(&packed.cells[i]);
    } else if (!plan.argument.fixed) {
      put(&given.number);
    }
  }
  return {};
}

Result<void> ArgumentCheck::take_size(const Plan& plan, const KernelArgument& given,
                                      LaunchSlots::Values& slots,
                                      PackedParameters::Cell& cell) const {
  const BoundArgument& argument = plan.argument;
  const bool on_device = given.kind == Kind::device_size;
  if (!on_device && given.kind != Kind::size) return wrong_kind(plan, given);
  if (on_device && !argument.device)
    return failure(ErrorCode::not_supported, plan, "is in device memory",
                   cat("give ", argument.name, " as a host number, or say `size ", argument.name,
                       " device` in the template's header"));
  if (on_device && !given.data)
    return failure(ErrorCode::missing_buffer, plan, "is a device size without an address",
                   "pass the device address of an int64");
  if (on_device && misaligned(given.data, 8))
    return failure(ErrorCode::misaligned, plan, "is not at a multiple of 8 bytes",
                   "put the int64 at an address that is a multiple of 8");
  if (given.number < 0)
    return failure(ErrorCode::invalid_argument, plan, cat("is ", given.number),
                   "a size is 0 or more");
  if (argument.fixed && given.number != argument.fixed_value)
    return failure(
        ErrorCode::shape_mismatch, plan,
        cat("is ", given.number, ", but was fixed at compile time as ", argument.fixed_value),
        cat("specialize with ", template_->size(argument.name)->fixed_by, "=", given.number,
            ", or with 0 for any"));
  if (!argument.fixed) slots[static_cast<std::size_t>(plan.slot)] = given.number;
  cell = {on_device ? given.data : nullptr, given.number};
  return {};
}

Result<void> ArgumentCheck::check_tensor(const Plan& plan, const KernelArgument& given,
                                         const LaunchSlots::Values& slots,
                                         std::int64_t* stride) const {
  const BoundArgument& argument = plan.argument;
  if (given.kind != Kind::tensor) return wrong_kind(plan, given);
  if (given.dtype != argument.dtype) return wrong_dtype(plan, given.dtype);
  if (!given.data || misaligned(given.data, argument.align))
    DIECAST_CHECK(check_address(plan, given, slots));
  if (!plan.rows) return {};
  std::int64_t dense = 0;
  if (!plan.shape.back().evaluate(slots, &dense))
    return failure(ErrorCode::shape_mismatch, plan, "has a row length beyond 64 bits",
                   "pass smaller sizes");
  *stride = given.number == 0 ? dense : given.number;
  const auto row_bytes =
      static_cast<std::uint64_t>(*stride) * static_cast<std::uint64_t>(plan.element_bytes);
  const bool aligned = (row_bytes & static_cast<std::uint64_t>(argument.align - 1)) == 0;
  const bool apart = argument.stride ? *stride >= dense : *stride == dense;
  if (aligned && apart) return {};
  return check_rows(plan, given, dense, slots);
}

// The slow half: what is wrong is no error where nothing is read.
Result<void> ArgumentCheck::check_address(const Plan& plan, const KernelArgument& given,
                                          const LaunchSlots::Values& slots) const {
  if (empty(plan, slots)) return {};
  const BoundArgument& argument = plan.argument;
  if (!given.data)
    return failure(ErrorCode::missing_buffer, plan, "is null",
                   cat("pass device memory for ", argument.name,
                       "; only a tensor without elements may be null"));
  const auto address = reinterpret_cast<std::uintptr_t>(given.data);
  return failure(ErrorCode::misaligned, plan,
                 cat("starts ", address % static_cast<std::uintptr_t>(argument.align),
                     " bytes past a multiple of ", argument.align),
                 cat("start it at a multiple of ", argument.align, " bytes"));
}

Result<void> ArgumentCheck::check_rows(const Plan& plan, const KernelArgument& given,
                                       std::int64_t dense, const LaunchSlots::Values& slots) const {
  const BoundArgument& argument = plan.argument;
  const std::int64_t stride = given.number == 0 ? dense : given.number;
  if (stride < 0)
    return failure(ErrorCode::invalid_argument, plan, cat("has a row stride of ", stride),
                   "a row stride is a number of elements, or 0 for dense rows");
  if (!several_rows(plan, slots) || empty(plan, slots)) return {};
  if (stride < dense)
    return failure(ErrorCode::shape_mismatch, plan,
                   cat("has rows of ", dense, " elements, but only ", stride, " apart"),
                   cat("give a row stride of at least ", dense, " elements"));
  if (stride > dense && !argument.stride)
    return failure(
        ErrorCode::shape_mismatch, plan,
        cat("has rows ", stride, " elements apart; the kernel takes dense rows of ", dense),
        cat("copy ", argument.name, " to dense rows"));
  return failure(ErrorCode::misaligned, plan,
                 cat("has rows ", stride, " elements of ", plan.element_bytes,
                     " bytes apart, no multiple of ", argument.align, " bytes"),
                 cat("make the row stride a multiple of ",
                     std::max<std::int64_t>(1, argument.align / plan.element_bytes), " elements"));
}

Result<void> ArgumentCheck::check_value(const Plan& plan, const KernelArgument& given) const {
  if (given.kind != plan.kind) return wrong_kind(plan, given);
  if (plan.kind == Kind::scalar) {
    if (given.dtype != plan.argument.dtype) return wrong_dtype(plan, given.dtype);
    return {};
  }
  if (!given.data)
    return failure(ErrorCode::missing_buffer, plan, "is null",
                   cat("pass the host address of its ", plan.argument.bytes, " bytes"));
  if (given.number != plan.argument.bytes)
    return failure(ErrorCode::shape_mismatch, plan,
                   cat("has ", given.number, " bytes; the kernel takes ", plan.argument.bytes),
                   "pass the structure that the template's header names");
  return {};
}

bool ArgumentCheck::empty(const Plan& plan, const LaunchSlots::Values& slots) const {
  std::int64_t extent = 1;
  return std::any_of(plan.shape.begin(), plan.shape.end(), [&](const Program& program) {
    return program.evaluate(slots, &extent) && extent == 0;
  });
}

bool ArgumentCheck::several_rows(const Plan& plan, const LaunchSlots::Values& slots) const {
  std::int64_t extent = 1;
  return std::any_of(plan.shape.begin(), plan.shape.end() - 1, [&](const Program& program) {
    return !program.evaluate(slots, &extent) || extent > 1;
  });
}

}  // namespace diecast
