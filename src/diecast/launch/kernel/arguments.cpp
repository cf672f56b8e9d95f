// A launch with a wrong pointer costs the whole CUDA context, so everything that can be known
// without the device is checked, in a few nanoseconds an argument; only errors cost more.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>

#include <algorithm>
#include <bit>

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
  check.template_ = specialization.shared_tmpl();
  check.spelling_ = specialization.spelling();
  check.arguments_ = specialization.arguments();
  const Names names = specialization.names();
  for (const BoundArgument& argument : check.arguments_)
    DIECAST_CHECK(check.add(argument, slots, names));
  if (std::max(check.parameter_bytes_.size(), check.plans_.size()) > PackedParameters::kMost)
    return Error{ErrorCode::not_supported,
                 cat(specialization.tmpl().name(), " has ", check.parameter_bytes_.size(),
                     " kernel parameters"),
                 cat("a kernel may have ", PackedParameters::kMost,
                     " of them; put some into a struct argument")};
  for (std::size_t i = 0; i < check.plans_.size() && check.may_be_quick_; ++i)
    check.may_be_quick_ = check.add_quick(i, slots);
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
  const std::size_t data = LaunchWords::data_word(plans_.size());
  const std::size_t number = LaunchWords::number_word(plans_.size());
  const auto parameter = [this](std::size_t bytes, std::size_t word) {  // in pack()'s order
    parameter_bytes_.push_back(bytes);
    quick_.add_parameter(word);
  };
  if (plan.kind == Kind::tensor && argument.absent) {
    plan.absent = true;
  } else if (plan.kind == Kind::tensor) {
    plan.nothing = !argument.stride && std::ranges::any_of(shape, [](const Program& extent) {
      return extent.constant() == 0;
    });
    plan.rows = !plan.nothing && (argument.stride || shape.size() > 1);
    parameter(sizeof(void*), data);
    if (argument.stride) parameter(sizeof(std::int64_t), number);
  } else if (plan.kind == Kind::size) {
    plan.device = argument.device && !argument.fixed;
    if (!argument.fixed) plan.slot = *slots.find(argument.name);
    sizes_.push_back(plans_.size());
    if (plan.device)
      parameter(sizeof(PackedParameters::Cell), data);  // both words
    else if (!argument.fixed)
      parameter(sizeof(std::int64_t), number);
  } else {
    const auto bytes = plan.kind == Kind::scalar ? plan.element_bytes : argument.bytes;
    parameter(static_cast<std::size_t>(bytes), number);  // a structure's launch is never quick
  }
  const DType dtype =
      plan.kind == Kind::tensor || plan.kind == Kind::scalar ? argument.dtype : DType::u8;
  kinds_.push_back({plan.kind, dtype});
  heads_.push_back(head_of(kinds_.back()));
  shapes_.push_back(std::move(shape));
  plans_.push_back(plan);
  return {};
}

bool ArgumentCheck::add_quick(std::size_t index, const LaunchSlots& slots) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0}, kTop = QuickArguments::kTop;
  constexpr std::uint64_t kFar = ~static_cast<std::uint64_t>(BoundLaunchRule::kMostSize);
  const BoundArgument& argument = arguments_[index];
  const Plan& plan = plans_[index];
  QuickArguments::Rule data, number;
  if (plan.kind == Kind::bytes) return false;
  if (plan.kind == Kind::tensor) {
    const auto align = static_cast<std::uint64_t>(argument.align);
    if (plan.absent)
      data.mask = kAll;
    else if (!plan.nothing)
      data = {.least = align, .mask = kTop | (align - 1)};
    if (plan.rows) number.mask = argument.stride ? kTop : kAll;
  } else if (plan.kind == Kind::size) {
    const auto divisor = static_cast<std::uint64_t>(argument.divisible);
    if (!argument.fixed && !std::has_single_bit(divisor)) return false;
    if (argument.fixed && argument.fixed_value % argument.divisible != 0) return false;
    if (argument.fixed)
      number = {.least = static_cast<std::uint64_t>(argument.fixed_value), .mask = kAll};
    else
      number.mask = kFar | (divisor - 1);
    data.mask = kAll;  // with an address it is one in device memory
  }
  quick_.add(index, data, number);
  return plan.kind != Kind::tensor || !plan.rows || one_row(index) || add_distance(index, slots);
}

// However large sizes are: nothing depends on how far apart its rows would be.
bool ArgumentCheck::one_row(std::size_t index) const {
  LaunchSlots::Values most;
  most.fill(BoundLaunchRule::kMostSize);
  std::int64_t length = 0;
  const std::vector<Program>& shape = shapes_[index];
  return !arguments_[index].stride && shape.back().evaluate(most, &length) &&
         std::all_of(shape.begin(), shape.end() - 1,
                     [](const Program& extent) { return extent.constant() == 1; });
}

bool ArgumentCheck::add_distance(std::size_t index, const LaunchSlots& slots) {
  const BoundArgument& argument = arguments_[index];
  const Program& length = shapes_[index].back();
  const auto element = static_cast<std::uint64_t>(plans_[index].element_bytes);
  const auto low = static_cast<std::uint64_t>(argument.align - 1);
  QuickArguments::Distance distance;
  distance.number = static_cast<std::uint8_t>(LaunchWords::number_word(index));
  distance.shift = static_cast<std::uint8_t>(std::countr_zero(element));
  distance.low = low;
  bool keeps = low == 0;              // the alignment, whatever the length is
  distance.length = distance.number;  // which the mask rules out
  if (const auto constant = length.constant()) {
    distance.constant = static_cast<std::uint64_t>(*constant);
    keeps = ((element * distance.constant) & low) == 0;
  } else if (const auto slot = length.slot()) {
    distance.length = static_cast<std::uint8_t>(slots.word(*slot));
    distance.mask = ~std::uint64_t{0};
    const auto divisor = static_cast<std::uint64_t>(slots.divisible(*slot));
    keeps = keeps || ((element * divisor) & low) == 0;
  } else {
    const auto rounded = length.rounded_slot();
    keeps = keeps || (rounded && ((element << rounded->zeros) & low) == 0);
    if (argument.stride || !keeps) return false;
  }
  if (argument.stride || !keeps) quick_.add(distance);
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

Result<void> ArgumentCheck::pack(std::span<const KernelArgument> arguments,
                                 LaunchSlots::Values& slots, PackedParameters& packed) const {
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
      if (plan.absent) continue;
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

Result<void> ArgumentCheck::check_kinds(std::span<const KernelArgument> arguments) const {
  if (arguments.size() != plans_.size()) return wrong_count(arguments.size());
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const KernelArgument& given = arguments[i];
    if (given.kind != kinds_[i].kind) return wrong_kind(i, given);
    if (given.dtype != kinds_[i].dtype) return wrong_dtype(i, given.dtype);
  }
  return {};
}

void ArgumentCheck::spell_out(const LaunchWords& words, std::span<KernelArgument> arguments) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    KernelArgument& argument = arguments[i] = kinds_[i];
    argument.data = words.data(i);
    argument.number = words.number(i);
    if (argument.kind == Kind::size && argument.data) argument.kind = Kind::device_size;
  }
}

}  // namespace diecast
