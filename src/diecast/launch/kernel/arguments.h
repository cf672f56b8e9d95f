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
  std::array<Cell, kMost> cells;
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
  struct Plan {
    BoundArgument argument;
    KernelArgument::Kind kind;  // a size may also come as device_size
    int slot = -1;              // a size that is not fixed
    std::vector<Program> shape;
    std::int64_t element_bytes = 0;
    bool rows = false;  // a tensor whose rows' distance matters: given to the kernel, or aligned
  };

  Result<void> add(const BoundArgument& argument, const LaunchSlots& slots, const Names& names);
  Result<void> take_size(const Plan& plan, const KernelArgument& given, LaunchSlots::Values& slots,
                         PackedParameters::Cell& cell) const;
  Result<void> check_tensor(const Plan& plan, const KernelArgument& given,
                            const LaunchSlots::Values& slots, std::int64_t* stride) const;
  Result<void> check_address(const Plan& plan, const KernelArgument& given,
                             const LaunchSlots::Values& slots) const;
  Result<void> check_rows(const Plan& plan, const KernelArgument& given, std::int64_t dense,
                          const LaunchSlots::Values& slots) const;
  Result<void> check_value(const Plan& plan, const KernelArgument& given) const;
  bool empty(const Plan& plan, const LaunchSlots::Values& slots) const;
  bool several_rows(const Plan& plan, const LaunchSlots::Values& slots) const;

  Error wrong_count(std::size_t given) const;
  Error wrong_kind(const Plan& plan, const KernelArgument& given) const;
  Error wrong_dtype(const Plan& plan, DType given) const;
  Error failure(ErrorCode code, const Plan& plan, std::string what, std::string fix) const;

  std::shared_ptr<const Template> template_;
  std::string spelling_;
  std::vector<Plan> plans_;
  std::vector<std::size_t> parameter_bytes_;
};

}  // namespace diecast
