// The typed check of a launch: every KernelArgument against its `arg` line as this specialization
// has it, and the kernel's parameters made from them.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/launch/kernel/launch_rule.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace diecast {

// One pointer a kernel parameter, into the caller's arguments or into `cells`; so neither may move
// before the launch.
struct PackedParameters {
  static constexpr std::size_t kMost = 64;
  struct Cell {  // {pointer, value} of a device size; `value` alone: a row stride
    const void* pointer;
    std::int64_t value;
  };
  std::array<void*, kMost + 1> pointers;  // the last one is not the kernel's
  std::array<Cell, kMost + 1> cells;      // by argument
};

class ArgumentCheck {
 public:
  // Errors: not_supported for more than PackedParameters::kMost kernel parameters; those of the
  // header's expressions.
  static Result<ArgumentCheck> make(const Specialization& specialization, const LaunchSlots& slots);

  // Fills the sizes' slots, then `packed`. Errors: invalid_argument (how many, which kind, a
  // negative size), dtype_mismatch, shape_mismatch, misaligned, missing_buffer, not_supported (a
  // size in device memory where the header does not allow it).
  Result<void> pack(std::span<const KernelArgument> arguments, LaunchSlots::Values& slots,
                    PackedParameters& packed) const {
    if (quick_pack(arguments, slots, packed)) return {};
    return careful_pack(arguments, slots, packed);
  }
  // The same for most launches, in one pass without a jump that depends on the arguments. False:
  // pack() has to say.
  bool quick_pack(std::span<const KernelArgument> arguments, LaunchSlots::Values& slots,
                  PackedParameters& packed) const;

  // Bytes of each kernel parameter, as the machine code must have them.
  const std::vector<std::size_t>& parameter_bytes() const { return parameter_bytes_; }

 private:
  // The fast half: arguments as most launches bring them, known to be right without a jump that
  // depends on them. `head` is an argument's first bytes, its kind and type; `checked` and `passed`
  // say where in it the number under `mask` and the kernel's parameter are.
  struct Quick {
    std::uint16_t head = 0;
    std::uint8_t checked = 0, passed = 0;
    std::uint8_t slot = LaunchSlots::kUnread;  // that gets the number: a size's
    std::uint8_t parameters = 1;               // 0: a size that is fixed at compile time
    bool needed = false;                       // the number may not be 0: an address
    std::uint64_t mask = 0, expected = 0;      // bits of the number, and what they must be
  };
  // How far apart a tensor's rows are: 0, or `length` and the slot's number, or where a stride is
  // allowed more. Also what must be 0.
  struct Distance {
    std::uint16_t at = 0;                    // byte of the arguments
    std::uint8_t slot = LaunchSlots::kZero;  // kZero beside a `length`
    std::uint8_t cell = PackedParameters::kMost, parameter = PackedParameters::kMost;  // a stride's
    std::uint8_t shift = 0;                    // from elements to bytes
    std::uint64_t mask = 0;                    // of bytes: must be 0
    std::uint64_t longer = ~std::uint64_t{0};  // of distance - length: must be 0
    std::int64_t length = 0;
  };
  // What of an argument the slow half asks for.
  struct Plan {
    KernelArgument::Kind kind;  // a size may also come as device_size
    bool device = false;        // may
    bool nothing = false;       // a tensor that never has elements: it may be anywhere
    bool rows = false;          // a tensor whose rows' distance matters
    int slot = -1;              // of a size that is not fixed at compile time
    std::int64_t element_bytes = 1;
  };

  Result<void> add(const BoundArgument& argument, const LaunchSlots& slots, const Names& names);
  // False: no launch of this kernel is checked by the fast half.
  bool add_quick(std::size_t index);
  bool add_distance(std::size_t index);
  Result<void> careful_pack(std::span<const KernelArgument> arguments, LaunchSlots::Values& slots,
                            PackedParameters& packed) const;
  bool size_fits(std::size_t index, const KernelArgument& given, LaunchSlots::Values& slots,
                 PackedParameters::Cell& cell) const;

  // The slow half (argument_errors.cpp) finds out what is wrong with argument `index`; with a
  // tensor that may turn out not to matter.
  Result<void> check_tensor(std::size_t index, const KernelArgument& given,
                            const LaunchSlots::Values& slots, std::int64_t* stride) const;
  Result<void> check_address(std::size_t index, const KernelArgument& given,
                             const LaunchSlots::Values& slots) const;
  Result<void> check_rows(std::size_t index, std::int64_t stride, std::int64_t row,
                          const LaunchSlots::Values& slots) const;
  bool empty(std::size_t index, const LaunchSlots::Values& slots) const;
  bool several_rows(std::size_t index, const LaunchSlots::Values& slots) const;
  Error wrong_count(std::size_t given) const;
  Error wrong_size(std::size_t index, const KernelArgument& given) const;
  Error wrong_value(std::size_t index, const KernelArgument& given) const;
  Error wrong_kind(std::size_t index, const KernelArgument& given) const;
  Error wrong_dtype(std::size_t index, DType given) const;
  Error failure(ErrorCode code, std::size_t index, std::string what, std::string fix) const;

  std::size_t quick_count_ = kNever;
  std::vector<Quick> quick_;
  std::vector<Distance> distances_;

  static constexpr std::size_t kNever = SIZE_MAX;
  std::vector<Plan> plans_;                   // of each argument
  std::vector<std::vector<Program>> shapes_;  // the same
  std::vector<BoundArgument> arguments_;      // the same
  std::vector<std::size_t> sizes_;            // which of them are sizes
  std::vector<std::size_t> parameter_bytes_;
  std::shared_ptr<const Template> template_;
  std::string spelling_;
};

// Inlined into a launch: a call more is a jump more that nothing foresees.
[[gnu::always_inline]] inline bool ArgumentCheck::quick_pack(
    std::span<const KernelArgument> arguments, LaunchSlots::Values& slots,
    PackedParameters& packed) const {
  const auto load = [](const char* from, auto value) {
    std::memcpy(&value, from, sizeof value);
    return std::uint64_t{value};
  };
  if (arguments.size() != quick_count_) [[unlikely]]
    return false;
  const char* const begin = reinterpret_cast<const char*>(arguments.data());
  const char* given = begin;
  std::uint64_t wrong = 0;
  void** next = packed.pointers.data();
  for (const Quick& quick : quick_) {
    const std::uint64_t number = load(given + quick.checked, std::uint64_t{});
    wrong |= load(given, std::uint16_t{}) ^ quick.head;
    wrong |= (number ^ quick.expected) & quick.mask;
    wrong |= std::uint64_t{number == 0} & std::uint64_t{quick.needed};
    slots[quick.slot] = static_cast<std::int64_t>(number);
    *next = const_cast<char*>(given + quick.passed);
    next += quick.parameters;
    given += sizeof(KernelArgument);
  }
  slots[LaunchSlots::kZero] = 0;
  for (const Distance& each : distances_) {
    const auto length = static_cast<std::uint64_t>(slots[each.slot] + each.length);
    const std::uint64_t brought = load(begin + each.at, std::uint64_t{});
    const std::uint64_t distance = brought + (brought == 0 ? length : 0);
    wrong |= ((distance - length) & each.longer) | distance >> 63;
    wrong |= (distance << each.shift) & each.mask;
    packed.cells[each.cell].value = static_cast<std::int64_t>(distance);
    packed.pointers[each.parameter] = &packed.cells[each.cell].value;
  }
  return wrong == 0;
}

}  // namespace diecast
