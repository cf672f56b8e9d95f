// A kernel is a specialization made resident on a device: typed arguments go in, one launch comes
// out. The argument schema and the launch rule come from the template's header; nothing about a
// kernel is written down twice. Any number of threads may preload and launch one kernel at the same
// time, and a captured graph may outlive it: code is never unloaded.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel/launch_words.h>
#include <diecast/launch/kernel/quick_arguments.h>
#include <diecast/launch/kernel/quick_grid.h>
#include <diecast/template/specialization.h>

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// The value that a caller gives for one `arg` line.
struct KernelArgument {
  enum class Kind : std::uint8_t { tensor, size, device_size, scalar, bytes };
  Kind kind = Kind::tensor;
  DType dtype = DType::u8;     // tensor, scalar
  const void* data = nullptr;  // tensor, device_size: device memory; bytes: host memory
  std::int64_t number = 0;     // tensor: row stride in elements (0 = dense); size: the number;
                               // device_size: the upper bound; scalar: the bits; bytes: how many

  static KernelArgument tensor(DType dtype, const void* data, std::int64_t row_stride = 0) {
    return {Kind::tensor, dtype, data, row_stride};
  }
  static KernelArgument size(std::int64_t value) { return {Kind::size, DType::u8, nullptr, value}; }
  static KernelArgument device_size(const std::int64_t* value, std::int64_t upper_bound) {
    return {Kind::device_size, DType::u8, value, upper_bound};
  }
  static KernelArgument scalar(float value) {
    return scalar_bits(DType::f32, std::bit_cast<std::int32_t>(value));
  }
  static KernelArgument scalar(std::int32_t value) { return scalar_bits(DType::i32, value); }
  static KernelArgument scalar(std::uint32_t value) { return scalar_bits(DType::u32, value); }
  static KernelArgument scalar(std::int64_t value) { return scalar_bits(DType::i64, value); }
  static KernelArgument scalar(std::uint64_t value) {
    return scalar_bits(DType::u64, std::bit_cast<std::int64_t>(value));
  }
  static KernelArgument scalar(double value) {
    return scalar_bits(DType::f64, std::bit_cast<std::int64_t>(value));
  }
  static KernelArgument scalar(std::int8_t value) { return scalar_bits(DType::i8, value); }
  static KernelArgument scalar(std::uint8_t value) { return scalar_bits(DType::u8, value); }
  static KernelArgument scalar(std::uint16_t value) { return scalar_bits(DType::u16, value); }
  static KernelArgument bytes(const void* data, std::size_t size) {  // copied at the launch
    return {Kind::bytes, DType::u8, data, static_cast<std::int64_t>(size)};
  }

 private:
  static KernelArgument scalar_bits(DType dtype, std::int64_t bits) {
    return {Kind::scalar, dtype, nullptr, bits};
  }
};

// An argument under the name of its `arg` line.
struct NamedArgument {
  std::string_view name;
  KernelArgument value;
};

// Checked values of a kernel's lower-case tunes. Kernel::tunes makes them once; many launches use
// them.
class LaunchTunes {
 private:
  friend class Kernel;
  static constexpr std::size_t kMost = 8;
  std::array<std::int64_t, kMost> values_{};  // in declaration order
};

// The lower-case tunes that tuning records name for these sizes.
struct TunedLaunch {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  Bindings tunes;
};

// This text begins the part of a launch error's fix that names a specialization which would take
// the arguments.
inline constexpr std::string_view kOrSpecialize = ", or specialize ";

struct PackedParameters;

class Kernel {
 public:
  // Compiles the launch rule and checks that the artifact was built for this schema; it loads
  // nothing. With `tuned`, a launch without tunes takes those of the nearest sizes (in doublings).
  // Errors: invalid_argument for an artifact of something else; those of tunes().
  static Result<std::shared_ptr<Kernel>> make(const Specialization& specialization,
                                              std::shared_ptr<const Artifact> artifact,
                                              std::shared_ptr<Device> device,
                                              std::span<const TunedLaunch> tuned = {});

  // Does the first step of preload() on another thread: the driver reads the code, unless it is
  // resident somewhere. If that fails, preload() does it again and returns the error.
  void read_ahead();
  // Makes the code resident in the current context (once a context); false if it was already. It
  // may wait for the GPU. Errors: those of Device::load; file_corrupt for code whose parameters are
  // not the schema's.
  Result<bool> preload();
  // Says whether it is resident in the current context already.
  Result<bool> resident() const;

  // Launches. `arguments` has one argument for every `arg` line, in order, also for sizes fixed at
  // compile time, which must be equal. The call checks the count, kinds, types, alignment, sizes
  // and null pointers (allowed if the tensor has no elements). A grid of 0 launches nothing. The
  // call never loads, allocates, locks or waits.
  // Errors: invalid_argument, dtype_mismatch, misaligned, shape_mismatch, missing_buffer,
  // not_supported (over a limit of the device; a size in device memory that the header does not
  // allow there), not_resident, driver_error.
  Result<void> launch(std::span<const KernelArgument> arguments, Stream stream) const;
  Result<void> launch(std::span<const KernelArgument> arguments, Stream stream,
                      const LaunchTunes& tunes) const;
  // The same by name, in any order. Finding the names takes some nanoseconds an argument. Further
  // errors: invalid_argument (a name that no `arg` line has, one that is given twice or missing; an
  // optional tensor of a kernel that was made without it may be missing).
  Result<void> launch(std::initializer_list<NamedArgument> arguments, Stream stream) const;
  // `tunes` are values of lower-case tunes, read and checked at each call.
  Result<void> launch(std::span<const KernelArgument> arguments, Stream stream,
                      const Bindings& tunes) const;

  // These two serve callers whose arguments never change their kinds and types. takes() checks
  // those once, without looking at values; launch() of words checks only the rest. A size with an
  // address is one in device memory. Errors: takes() has those of kinds and types, launch() the
  // others.
  Result<void> takes(std::span<const KernelArgument> kinds) const;
  [[gnu::always_inline]] Result<void> launch(LaunchWords& words, Stream stream) const {
    LaunchShape shape = quick_.grid.constant();
    if (quick_.take(words, shape)) [[likely]]
      return launch_checked(words.parameters.data(), shape, stream);
    return launch_spelled(words, stream);
  }

  // Returns the specialization's lower-case tunes with those of `tunes` in their place. Errors:
  // unknown_parameter, value_not_allowed; invalid_argument for another value of a compiled tune.
  Result<LaunchTunes> tunes(const Bindings& tunes) const;

  const Specialization& specialization() const { return specialization_; }
  const Artifact& artifact() const { return *artifact_; }
  Device& device() const { return *device_; }
  // Returns grid, block and shared memory for these sizes, as launch would use them.
  Result<LaunchShape> shape(std::span<const KernelArgument> arguments,
                            const Bindings& tunes = {}) const;

 private:
  struct State;
  // Most launches go through this. It makes the parameters and the shape of a launch whose
  // arguments have nothing unusual and whose tunes are the specialization's own. False: State::take
  // decides.
  struct Quick {
    bool may = false;
    QuickArguments arguments;
    QuickGrid grid;
    bool take(LaunchWords& words, LaunchShape& shape) const {
      return may && arguments.take(words) && grid.take(words, shape);
    }
  };
  Kernel(const Specialization& specialization, std::shared_ptr<const Artifact> artifact,
         std::shared_ptr<Device> device, std::unique_ptr<State> state);
  Error not_resident(Stream stream) const;
  [[gnu::cold]] void explain(Result<void>& launched, Stream stream) const;
  // Null `tunes` stand for those of this launch's sizes.
  Result<void> launch_with(std::span<const KernelArgument> arguments, Stream stream,
                           const LaunchTunes* tunes) const;
  [[gnu::cold]] Result<void> launch_spelled(const LaunchWords& words, Stream stream) const;
  // It is inlined into each launch, like all of the quick half: one more call is one more jump that
  // the processor cannot foresee.
  [[gnu::always_inline]] Result<void> launch_checked(void** parameters, const LaunchShape& shape,
                                                     Stream stream) const {
    Result<void> launched = device_->launch_resident(resident_, shape, parameters, stream);
    if (!launched) [[unlikely]]
      explain(launched, stream);
    return launched;
  }
  Result<void> add_tuned(std::span<const TunedLaunch> tuned);

  Specialization specialization_;
  std::shared_ptr<const Artifact> artifact_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<State> state_;
  ResidentList resident_;
  Quick quick_;
};

}  // namespace diecast
