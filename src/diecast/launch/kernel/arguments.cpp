// A launch with a wrong pointer costs the whole CUDA context, so everything that can be known
// without the device is checked, in a few nanoseconds an argument; only errors cost more.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>

#include <algorithm>
#include <bit>
#include <cstddef>

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

// Where an argument's numbers are; a device size's parameter is both.
static_assert(std::is_standard_layout_v<KernelArgument> && sizeof(KernelArgument) == 24);
constexpr std::uint8_t kData = offsetof(KernelArgument, data);
constexpr std::uint8_t kNumber = offsetof(KernelArgument, number);
static_assert(offsetof(KernelArgument, kind) == 0 && offsetof(KernelArgument, dtype) == 1);
static_assert(kNumber == kData + 8 && sizeof(void*) == 8);

std::uint16_t byte_of(std::size_t argument, std::size_t member) {
  return static_cast<std::uint16_t>(argument * sizeof(KernelArgument) + member);
}

}  // namespace

Result<ArgumentCheck> ArgumentCheck::make(const Specialization& specialization,
                                          const LaunchSlots& slots) {
  ArgumentCheck check;
  check.template_ = specialization.shared_template();
  check.spelling_ = specialization.spelling();
  check.arguments_ = specialization.arguments();
  const Names names = specialization.names();
  bool quick = true;
  for (const BoundArgument& argument : check.arguments_) {
    DIECAST_CHECK(check.add(argument, slots, names));
    quick = quick && check.add_quick(check.plans_.size() - 1);
  }
  if (std::max(check.parameter_bytes_.size(), check.plans_.size()) > PackedParameters::kMost)
    return Error{ErrorCode::not_supported,
                 cat(specialization.tmpl().name(), " has ", check.parameter_bytes_.size(),
                     " kernel parameters"),
                 cat("a kernel may have ", PackedParameters::kMost,
                     " of them; put some into a struct argument")};
  if (quick) check.quick_count_ = check.quick_.size();
  return check;
}

Result<void> ArgumentCheck::add(const BoundArgument& argument, const LaunchSlots& slots,
                                const Names& names) {
  Plan plan{expected_kind(argument.kind)};
  std::vector<Program> shape;
  for (const Expression& extent : argument.shape) {
    DIECAST_TRY(Program program, slots.compile(extent, names));
    shape.push_back(std::move(program));
  }
  plan.element_bytes = dtype_bits(argument.dtype) / 8;
  if (plan.kind == Kind::tensor) {
    plan.nothing = !argument.stride && std::ranges::any_of(shape, [](const Program& extent) {
      return extent.constant() == 0;
    });
    plan.rows = !plan.nothing && (argument.stride || shape.size() > 1);
    parameter_bytes_.push_back(sizeof(void*));
    if (argument.stride) parameter_bytes_.push_back(sizeof(std::int64_t));
  } else if (plan.kind == Kind::size) {
    plan.device = argument.device && !argument.fixed;
    if (!argument.fixed) plan.slot = *slots.find(argument.name);
    sizes_.push_back(plans_.size());
    if (!argument.fixed) parameter_bytes_.push_back(argument.device ? 16 : 8);
  } else {
    parameter_bytes_.push_back(
        static_cast<std::size_t>(plan.kind == Kind::scalar ? plan.element_bytes : argument.bytes));
  }
  shapes_.push_back(std::move(shape));
  plans_.push_back(plan);
  return {};
}

bool ArgumentCheck::add_quick(std::size_t index) {
  constexpr std::uint64_t kFar = std::uint64_t{3} << 62;  // below it rounding up stays in 64 bits
  const BoundArgument& argument = arguments_[index];
  const Plan& plan = plans_[index];
  const bool is_size = plan.kind == Kind::size;
  Quick quick;
  const DType dtype = is_size ? DType::u8 : argument.dtype;
  quick.head =
      static_cast<std::uint16_t>(static_cast<int>(plan.kind) | static_cast<int>(dtype) << 8);
  quick.checked = quick.passed = kNumber;
  if (plan.kind == Kind::bytes) return false;
  if (plan.kind == Kind::tensor) {
    quick.checked = quick.passed = kData;
    quick.needed = !plan.nothing;
    if (!plan.nothing) quick.mask = static_cast<std::uint64_t>(argument.align - 1);
    if (plan.rows && !add_distance(index)) return false;
    if (argument.stride) quick.parameters = 2;
  } else if (is_size && argument.fixed) {
    if (argument.fixed_value % argument.divisible != 0) return false;
    quick.mask = ~std::uint64_t{0};
    quick.expected = static_cast<std::uint64_t>(argument.fixed_value);
    quick.parameters = 0;
  } else if (is_size) {
    const auto divisor = static_cast<std::uint64_t>(argument.divisible);
    if (!std::has_single_bit(divisor)) return false;
    quick.mask = kFar | (divisor - 1);
    quick.slot = static_cast<std::uint8_t>(plan.slot);
    if (plan.device) {  // its parameter is the address too, which here must be none
      quick.passed = kData;
      distances_.push_back({.at = byte_of(index, kData)});
    }
  }
  quick_.push_back(quick);
  return true;
}

bool ArgumentCheck::add_distance(std::size_t index) {
  const BoundArgument& argument = arguments_[index];
  const Program& length = shapes_[index].back();
  const auto element = static_cast<std::uint64_t>(plans_[index].element_bytes);
  Distance distance;
  distance.at = byte_of(index, kNumber);
  distance.shift = static_cast<std::uint8_t>(std::countr_zero(element));
  if (argument.stride) {
    distance.longer = std::uint64_t{1} << 63;
    distance.cell = static_cast<std::uint8_t>(index);
    distance.parameter = static_cast<std::uint8_t>(parameter_bytes_.size() - 1);
  }
  const auto mask = static_cast<std::uint64_t>(argument.align - 1);
  if (const auto constant = length.constant()) {
    distance.length = *constant;
    distance.mask = mask;
  } else if (const auto slot = length.slot()) {
    distance.slot = static_cast<std::uint8_t>(*slot);
    distance.mask = mask;
  } else {  // dense rows, whose length need not be known where it keeps the alignment
    const auto rounded = length.rounded_slot();
    const bool keeps = mask == 0 || (rounded && ((element << rounded->zeros) & mask) == 0);
    if (argument.stride || !keeps) return false;
  }
  distances_.push_back(distance);
  return true;
}

bool ArgumentCheck::size_fits(std::size_t index, const KernelArgument& given,
                              LaunchSlots::Values& slots, PackedParameters::Cell& cell) const {
  const BoundArgument& argument = arguments_[index];
  const Plan& plan = plans_[index];
  const std::int64_t number = given.number;
  if (number < 0) return false;
  cell = {nullptr, number};
  if (given.kind == Kind::size) {
    if (number % argument.divisible != 0) return false;
  } else {
    constexpr std::uintptr_t kPast = alignof(std::int64_t) - 1;
    if (given.kind != Kind::device_size || !plan.device || !given.data ||
        (reinterpret_cast<std::uintptr_t>(given.data) & kPast) != 0)
      return false;
    cell.pointer = given.data;
  }
  if (plan.slot < 0) return number == argument.fixed_value;
  slots[static_cast<std::size_t>(plan.slot)] = number;
  return true;
}

Result<void> ArgumentCheck::careful_pack(std::span<const KernelArgument> arguments,
                                         LaunchSlots::Values& slots,
                                         PackedParameters& packed) const {
  if (arguments.size() != plans_.size()) return wrong_count(arguments.size());
  // Sizes first: the shapes of tensors depend on them.
  for (const std::size_t i : sizes_)
    if (!size_fits(i, arguments[i], slots, packed.cells[i])) return wrong_size(i, arguments[i]);
  void** next = packed.pointers.data();
  const auto put = [&next](const void* value) { *next++ = const_cast<void*>(value); };
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const KernelArgument& given = arguments[i];
    const Plan& plan = plans_[i];
    PackedParameters::Cell& cell = packed.cells[i];
    if (plan.kind == Kind::tensor) {
      DIECAST_CHECK(check_tensor(i, given, slots, &cell.value));
      put(&given.data);
      if (arguments_[i].stride) put(&cell.value);
    } else if (plan.kind == Kind::size) {
      if (plan.slot >= 0) put(plan.device ? static_cast<void*>(&cell) : &cell.value);
    } else if (plan.kind == Kind::scalar) {
      if (given.kind != Kind::scalar || given.dtype != arguments_[i].dtype)
        return wrong_value(i, given);
      put(&given.number);
    } else {
      if (given.kind != Kind::bytes || !given.data || given.number != arguments_[i].bytes)
        return wrong_value(i, given);
      put(given.data);
    }
  }
  return {};
}

}  // namespace diecast
