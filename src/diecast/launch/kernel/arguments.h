// The typed check of a launch: every KernelArgument against its `arg` line as this specialization
// has it, and the kernel's parameters made from them.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/launch/kernel/launch_rule.h>
#include <diecast/launch/kernel/quick_arguments.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace diecast {

// One pointer a kernel parameter, into the caller's arguments or into `cells`; so neither may move
// before the launch.
struct PackedParameters {
  static constexpr std::size_t kMost = LaunchWords::kMostArguments;
  PackedParameters() = default;
  PackedParameters(const PackedParameters&) = delete;
  struct Cell {  // {pointer, value} of a device size; `value` alone: a row stride
    const void* pointer;
    std::int64_t value;
  };
  std::array<void*, kMost> pointers;
  std::array<Cell, kMost> cells;  // by argument
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
                    PackedParameters& packed) const;
  // The quick half of a launch, where the kernel may have one: the words of arguments that have
  // its kinds and types (else false), and whether they are right. Where not pack() has to say.
  bool may_be_quick() const { return may_be_quick_; }
  bool quick_words(std::span<const KernelArgument> arguments, LaunchWords& words) const {
    if (arguments.size() != heads_.size()) [[unlikely]]
      return false;
    unsigned other = 0;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      const KernelArgument& given = arguments[i];
      other |= heads_[i] ^ head_of(given);
      words.set(i, given.data, given.number);
    }
    return other == 0;
  }
  const QuickArguments& quick() const { return quick_; }
  // Errors: those of pack that kinds and types alone have.
  Result<void> check_kinds(std::span<const KernelArgument> arguments) const;
  // What the words of such arguments stand for.
  void spell_out(const LaunchWords& words, std::span<KernelArgument> arguments) const;

  std::size_t count() const { return plans_.size(); }
  // Bytes of each kernel parameter, as the machine code must have them.
  const std::vector<std::size_t>& parameter_bytes() const { return parameter_bytes_; }

 private:
  // An argument's kind and type, as they lie in it.
  static std::uint16_t head_of(const KernelArgument& argument) {
    std::uint16_t head = 0;
    std::memcpy(&head, &argument, sizeof head);
    return head;
  }
  static_assert(std::is_standard_layout_v<KernelArgument> && sizeof(KernelArgument) == 24);
  static_assert(offsetof(KernelArgument, kind) == 0 && offsetof(KernelArgument, dtype) == 1);
  static_assert(offsetof(KernelArgument, data) == 8 && offsetof(KernelArgument, number) == 16);
  // What of an argument the slow half asks for.
  struct Plan {
    KernelArgument::Kind kind;  // a size may also come as device_size
    bool device = false;        // may
    bool nothing = false;       // a tensor that never has elements: it may be anywhere
    bool rows = false;          // a tensor whose rows' distance matters
    bool absent = false;        // a tensor that is null, and no kernel parameter
    int slot = -1;              // of a size that is not fixed at compile time
    std::int64_t element_bytes = 1;
  };

  Result<void> add(const BoundArgument& argument, const LaunchSlots& slots, const Names& names);
  // False: no launch of this kernel is quick.
  bool add_quick(std::size_t index, const LaunchSlots& slots);
  bool one_row(std::size_t index) const;
  bool add_distance(std::size_t index, const LaunchSlots& slots);
  bool size_fits(std::size_t index, const KernelArgument& given, LaunchSlots::Values& slots,
                 PackedParameters::Cell& cell) const;

  // The slow half (argument_errors.cpp) finds out what is wrong with argument `index`; with a
  // tensor that may turn out not to matter.
  Result<void> check_tensor(std::size_t index, const KernelArgument& given,
                            const LaunchSlots::Values& slots, std::int64_t* stride) const;
  Result<void> check_absent(std::size_t index, const KernelArgument& given) const;
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

  QuickArguments quick_;
  bool may_be_quick_ = true;
  std::vector<KernelArgument> kinds_;  // of each argument: its kind and type
  std::vector<std::uint16_t> heads_;   // the same

  std::vector<Plan> plans_;                   // of each argument
  std::vector<std::vector<Program>> shapes_;  // the same
  std::vector<BoundArgument> arguments_;      // the same
  std::vector<std::size_t> sizes_;            // which of them are sizes
  std::vector<std::size_t> parameter_bytes_;
  std::shared_ptr<const Template> template_;
  std::string spelling_;
};

}  // namespace diecast
