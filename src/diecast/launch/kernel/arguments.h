// The typed check of a launch: every KernelArgument against its `arg` line as this specialization
// has it, and the kernel's parameters made from them.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/launch/kernel/launch_rule.h>

#include <array>
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

  // Bytes of each kernel parameter, as the machine code must have them.
  const std::vector<std::size_t>& parameter_bytes() const { return parameter_bytes_; }

 private:
  // What the fast half needs of an argument, in one cache line.
  struct Plan {
    KernelArgument::Kind kind;  // a size may also come as device_size
    DType dtype = DType::u8;
    bool device = false, stride = false;
    bool rows = false;     // a tensor whose rows' distance matters
    bool dense = false;    // rows without a gap are right however long they are
    bool nothing = false;  // a tensor that never has elements: it may be anywhere
    // A slot, or -1: of a size that is not fixed at compile time; of the size that a tensor's row
    // is long; of the size that it is long rounded up, so that dense rows keep the alignment.
    std::int8_t slot = -1, rounded = -1;
    // Bits that must be 0: of an address; of a size with a divisor that is a power of two.
    std::uint64_t mask = 0;
    std::int64_t divisor = 1;  // of a size, when it is none
    std::int64_t element_bytes = 1;
    std::int64_t row = -1;    // elements of a tensor's row, if known now
    std::int64_t number = 0;  // a fixed size's value, a structure's bytes
  };

  Result<void> add(const BoundArgument& argument, const LaunchSlots& slots, const Names& names);
  static void add_rows(Plan& plan, const Program& length);
  std::size_t index_of(const Plan& plan) const {
    return static_cast<std::size_t>(&plan - plans_.data());
  }

  // The fast half: true for what is certainly right, with its slot and cell filled.
  static bool size_fits(const Plan& plan, const KernelArgument& given, LaunchSlots::Values& slots,
                        PackedParameters::Cell& cell);
  bool tensor_fits(const Plan& plan, const KernelArgument& given, const LaunchSlots::Values& slots,
                   std::int64_t* stride) const;
  bool rows_fit(const Plan& plan, std::int64_t given, const LaunchSlots::Values& slots,
                std::int64_t* stride) const;

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

  std::vector<Plan> plans_;                   // of each argument
  std::vector<std::vector<Program>> shapes_;  // the same
  std::vector<BoundArgument> arguments_;      // the same
  std::vector<std::size_t> sizes_;            // which of them are sizes
  std::vector<std::size_t> parameter_bytes_;
  std::shared_ptr<const Template> template_;
  std::string spelling_;
};

}  // namespace diecast
