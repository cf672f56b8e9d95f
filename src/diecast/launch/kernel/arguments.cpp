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

}  // namespace

Result<ArgumentCheck> ArgumentCheck::make(const Specialization& specialization,
                                          const LaunchSlots& slots) {
  ArgumentCheck check;
  check.template_ = specialization.shared_template();
  check.spelling_ = specialization.spelling();
  check.arguments_ = specialization.arguments();
  const Names names = specialization.names();
  for (const BoundArgument& argument : check.arguments_)
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
  Plan plan{expected_kind(argument.kind), argument.dtype};
  std::vector<Program> shape;
  for (const Expression& extent : argument.shape) {
    DIECAST_TRY(Program program, slots.compile(extent, names));
    shape.push_back(std::move(program));
  }
  plan.element_bytes = dtype_bits(argument.dtype) / 8;
  if (plan.kind == Kind::tensor) {
    plan.align = argument.align;
    plan.stride = argument.stride;
    plan.rows = argument.stride || shape.size() > 1;
    plan.nothing = std::ranges::any_of(shape, [](const Program& p) { return p.constant() == 0; });
    if (plan.rows) plan.row = shape.back().constant().value_or(-1);
    parameter_bytes_.push_back(sizeof(void*));
    if (argument.stride) parameter_bytes_.push_back(sizeof(std::int64_t));
  } else if (plan.kind == Kind::size) {
    plan.device = argument.device && !argument.fixed;
    plan.number = argument.fixed_value;
    plan.align = argument.divisible;
    plan.slot = argument.fixed ? -1 : *slots.find(argument.name);
    sizes_.push_back(plans_.size());
    if (!argument.fixed) parameter_bytes_.push_back(argument.device ? 16 : 8);
  } else {
    plan.number = argument.bytes;
    parameter_bytes_.push_back(
        static_cast<std::size_t>(plan.kind == Kind::scalar ? plan.element_bytes : argument.bytes));
  }
  shapes_.push_back(std::move(shape));
  plans_.push_back(plan);
  return {};
}

bool ArgumentCheck::size_fits(const Plan& plan, const KernelArgument& given,
                              LaunchSlots::Values& slots, PackedParameters::Cell& cell) {
  if (given.number < 0) return false;
  if (given.kind == Kind::size && plan.align > 1 && given.number % plan.align != 0) return false;
  if (given.kind != Kind::size) {
    constexpr std::uintptr_t kAlign = alignof(std::int64_t);
    if (given.kind != Kind::device_size || !plan.device || !given.data ||
        reinterpret_cast<std::uintptr_t>(given.data) % kAlign != 0)
      return false;
  }
  if (plan.slot < 0) return given.number == plan.number;
  slots[static_cast<std::size_t>(plan.slot)] = given.number;
  cell = {given.kind == Kind::size ? nullptr : given.data, given.number};
  return true;
}

bool ArgumentCheck::tensor_fits(std::size_t index, const KernelArgument& given,
                                const LaunchSlots::Values& slots, std::int64_t* stride) const {
  const Plan& plan = plans_[index];
  const auto mask = static_cast<std::uint64_t>(plan.align - 1);
  if (given.kind != Kind::tensor || given.dtype != plan.dtype) return false;
  if (plan.nothing && !plan.stride) return true;
  if (!given.data || (reinterpret_cast<std::uintptr_t>(given.data) & mask) != 0) return false;
  if (!plan.rows || (!plan.stride && given.number == 0 && mask == 0)) return true;
  std::int64_t row = plan.row;
  if (row < 0 && !shapes_[index].back().evaluate(slots, &row)) return false;
  *stride = given.number == 0 ? row : given.number;
  const std::uint64_t apart =
      static_cast<std::uint64_t>(*stride) * static_cast<std::uint64_t>(plan.element_bytes);
  return (apart & mask) == 0 && (plan.stride ? *stride >= row : *stride == row);
}

Result<void> ArgumentCheck::pack(std::span<const KernelArgument> arguments,
                                 LaunchSlots::Values& slots, PackedParameters& packed) const {
  const std::size_t count = plans_.size();
  if (arguments.size() != count) return wrong_count(arguments.size());
  // Sizes first: the shapes of tensors depend on them.
  for (const std::size_t i : sizes_)
    if (!size_fits(plans_[i], arguments[i], slots, packed.cells[i]))
      return wrong_size(i, arguments[i]);
  void** next = packed.pointers.data();
  const auto put = [&next](const void* value) { *next++ = const_cast<void*>(value); };
  for (std::size_t i = 0; i < count; ++i) {
    const Plan& plan = plans_[i];
    const KernelArgument& given = arguments[i];
    if (plan.kind == Kind::tensor) {
      std::int64_t* const stride = &packed.cells[i].value;
      if (!tensor_fits(i, given, slots, stride))
        DIECAST_CHECK(check_tensor(i, given, slots, stride));
      put(&given.data);
      if (plan.stride) put(stride);
    } else if (plan.kind == Kind::size) {
      if (plan.slot >= 0)
        put(plan.device ? static_cast<void*>(&packed.cells[i]) : &packed.cells[i].value);
    } else if (plan.kind == Kind::scalar) {
      if (given.kind != Kind::scalar || given.dtype != plan.dtype) return wrong_value(i, given);
      put(&given.number);
    } else {
      if (given.kind != Kind::bytes || !given.data || given.number != plan.number)
        return wrong_value(i, given);
      put(given.data);
    }
  }
  return {};
}

}  // namespace diecast
