// A template's launch line for one specialization on one device: constants folded, the rest a few
// instructions over the numbers that a launch brings.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel/launch_words.h>
#include <diecast/launch/kernel/quick_grid.h>
#include <diecast/template/expr.h>
#include <diecast/template/specialization.h>
#include <diecast/template/step_program.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// The numbers a launch brings, in slots: sizes that are not fixed at compile time, then lower-case
// tunes, each in declaration order.
class LaunchSlots {
 public:
  static constexpr std::size_t kMost = 32;
  using Values = std::array<std::int64_t, kMost>;

  // Errors: not_supported for more than kMost.
  static Result<LaunchSlots> make(const Specialization& specialization);

  std::optional<int> find(std::string_view name) const;
  Result<Program> compile(const Expression& expression, const Names& constants) const;
  std::size_t size_count() const { return sizes_; }
  std::size_t count() const { return names_.size(); }
  bool is_size(int slot) const { return static_cast<std::size_t>(slot) < sizes_; }
  const std::string& name(std::size_t slot) const { return names_[slot]; }
  // Of a size: which number of LaunchWords it is, and what it is a multiple of.
  int word(int slot) const { return of_sizes_[static_cast<std::size_t>(slot)].word; }
  std::int64_t divisible(int slot) const {
    return of_sizes_[static_cast<std::size_t>(slot)].divisible;
  }
  // "rows = 7, cols = 16": the sizes, for errors.
  std::string sizes_text(const Values& values) const;
  std::string size_names() const;  // "rows, cols"

 private:
  struct Size {
    int word;
    std::int64_t divisible;
  };
  std::vector<std::string> names_;
  std::vector<Size> of_sizes_;
  std::size_t sizes_ = 0;
};

class BoundLaunchRule {
 public:
  // `static_shared_bytes`: what the code takes of a block's shared memory by itself. Errors: those
  // of the header's expressions.
  static Result<BoundLaunchRule> make(const Specialization& specialization,
                                      const DeviceProperties& device, int static_shared_bytes,
                                      const LaunchSlots& slots);

  // A grid with a 0 launches nothing. Errors: not_supported for what is over a limit of the device
  // or has no value.
  Result<void> shape(const LaunchSlots::Values& values, LaunchShape& shape) const;
  // The same for most launches, those with the specialization's own lower-case tunes and sizes of
  // at most kMostSize; where it has nothing to say shape() has.
  static constexpr std::int64_t kMostSize = INT32_MAX;
  bool may_be_quick() const { return may_be_quick_; }
  const QuickGrid& quick() const { return quick_; }

  // Of each the rule's constant, else the device's most.
  const LaunchNeeds& needs() const { return needs_; }

 private:
  enum Field { kGrid = 0, kBlock = 3, kShared = 6, kCluster = 7, kFields = 8 };
  struct Variable {
    int field;
    Program program;
  };
  using Numbers = std::array<std::int64_t, kFields>;

  Result<void> add(int field, const Expression& expression, const Names& constants);
  bool varies(int field) const;
  std::uint32_t most_asked(int field) const;
  void make_quick(const LaunchRule& launch, const Names& constants);
  LaunchShape shape_of(const Numbers& numbers) const;
  bool within_limits(const Numbers& numbers) const;
  Error broken_limit(const Numbers& numbers, const LaunchSlots::Values& values) const;
  // `mend`: what else than fewer rows helps, where it depends on them.
  Error failure(int field, std::string what, const LaunchSlots::Values& values,
                std::string_view mend = {}) const;
  static std::int64_t least(int field) { return field >= kBlock && field < kShared ? 1 : 0; }

  bool may_be_quick_ = false;
  QuickGrid quick_;

  bool cooperative_ = false, dependent_ = false;
  Numbers most_{};
  Numbers constants_{1, 1, 1, 1, 1, 1, 0, 0};
  std::int64_t most_threads_ = 0;
  std::vector<Variable> variables_;
  LaunchSlots slots_;
  LaunchNeeds needs_;
  std::array<Place, kFields> places_;  // where each field's clause stands
};

}  // namespace diecast
