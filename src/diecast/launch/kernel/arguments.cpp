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
    plan.mask = static_cast<std::uint64_t>(argument.align - 1);
    plan.stride = argument.stride;
    plan.nothing = !plan.stride &&
                   std::ranges::any_of(shape, [](const Program& p) { return p.constant() == 0; });
    plan.rows = !plan.nothing && (argument.stride || shape.size() > 1);
    plan.dense = !plan.stride && plan.mask == 0;
    if (plan.rows) add_rows(plan, shape.back());
    parameter_bytes_.push_back(sizeof(void*));
    if (argument.stride) parameter_bytes_.push_back(sizeof(std::int64_t));
  } else if (plan.kind == Kind::size) {
    plan.device = argument.device && !argument.fixed;
    plan.number = argument.fixed_value;
    const bool power = (argument.divisible & (argument.divisible - 1)) == 0;
    if (power) plan.mask = static_cast<std::uint64_t>(argument.divisible - 1);
    if (!power) plan.divisor = argument.divisible;
    if (!argument.fixed) plan.slot = static_cast<std::int8_t>(*slots.find(argument.name));
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

// What is known of a tensor's rows before a launch brings their length.
void ArgumentCheck::add_rows(Plan& plan, const Program& length) {
  plan.row = length.constant().value_or(-1);
  plan.slot = static_cast<std::int8_t>(length.slot().value_or(-1));
  const auto rounded = length.rounded_slot();
  if (!rounded || plan.stride) return;
  const auto apart = static_cast<std::uint64_t>(plan.element_bytes) << rounded->zeros;
  if ((apart & plan.mask) == 0) plan.rounded = static_cast<std::int8_t>(rounded->slot);
}

inline bool ArgumentCheck::size_fits(const Plan& plan, const KernelArgument& given,
                                     LaunchSlots::Values& slots, PackedParameters::Cell& cell) {
  const std::int64_t number = given.number;
  if (number < 0) return false;
  cell.value = number;
  if (given.kind == Kind::size) {
    if ((static_cast<std::uint64_t>(number) & plan.mask) != 0) return false;
    if (plan.divisor != 1 && number % plan.divisor != 0) return false;
    cell.pointer = nullptr;
  } else {
    constexpr std::uintptr_t kPast = alignof(std::int64_t) - 1;
    if (given.kind != Kind::device_size || !plan.device || !given.data ||
        (reinterpret_cast<std::uintptr_t>(given.data) & kPast) != 0)
      return false;
    cell.pointer = given.data;
  }
  if (plan.slot < 0) return number == plan.number;
  slots[static_cast<std::size_t>(plan.slot)] = number;
  return true;
}

inline bool ArgumentCheck::tensor_fits(const Plan& plan, const KernelArgument& given,
                                       const LaunchSlots::Values& slots,
                                       std::int64_t* stride) const {
  if (given.kind != Kind::tensor || given.dtype != plan.dtype) return false;
  if (!given.data || (reinterpret_cast<std::uintptr_t>(given.data) & plan.mask) != 0)
    return plan.nothing;
  if (!plan.rows || (given.number == 0 && plan.dense)) return true;
  return rows_fit(plan, given.number, slots, stride);
}

bool ArgumentCheck::rows_fit(const Plan& plan, std::int64_t given, const LaunchSlots::Values& slots,
                             std::int64_t* stride) const {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;  // below it rounding up stays in 64 bits
  if (given == 0 && plan.rounded >= 0 && slots[static_cast<std::size_t>(plan.rounded)] < kFar)
    return true;
  std::int64_t row = plan.slot < 0 ? plan.row : slots[static_cast<std::size_t>(plan.slot)];
  if (row < 0 && !shapes_[index_of(plan)].back().evaluate(slots, &row)) return false;
  *stride = given == 0 ? row : given;
  const std::uint64_t apart =
      static_cast<std::uint64_t>(*stride) * static_cast<std::uint64_t>(plan.element_bytes);
  return (apart & plan.mask) == 0 && (plan.stride ? *stride >= row : *stride == row);
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
  const KernelArgument* given = arguments.data();
  PackedParameters::Cell* cell = packed.cells.data();
  const Plan* const end = plans_.data() + count;
  for (const Plan* plan = plans_.data(); plan != end; ++plan, ++given, ++cell) {
    if (plan->kind == Kind::tensor) [[likely]] {
      if (!tensor_fits(*plan, *given, slots, &cell->value)) [[unlikely]]
        DIECAST_CHECK(check_tensor(index_of(*plan), *given, slots, &cell->value));
      put(&given->data);
      if (plan->stride) put(&cell->value);
    } else if (plan->kind == Kind::size) {
      if (plan->slot >= 0) put(plan->device ? static_cast<void*>(cell) : &cell->value);
    } else if (plan->kind == Kind::scalar) {
      if (given->kind != Kind::scalar || given->dtype != plan->dtype)
        return wrong_value(index_of(*plan), *given);
      put(&given->number);
    } else {
      if (given->kind != Kind::bytes || !given->data || given->number != plan->number)
        return wrong_value(index_of(*plan), *given);
      put(given->data);
    }
  }
  return {};
}

}  // namespace diecast
