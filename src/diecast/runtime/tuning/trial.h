// A launch made from a template's header alone: memory for every tensor, seeded inputs, outputs
// that can be set back and compared. What a tuner times, without knowing the template.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/launch/device_memory.h>
#include <diecast/launch/kernel.h>
#include <diecast/runtime/tuning/draw.h>
#include <diecast/runtime/tuning/given.h>
#include <diecast/runtime/tuning/record.h>

#include <memory>
#include <span>
#include <vector>

namespace diecast {

class Trial {
 public:
  // Values of inputs are moderate, codes of every kind, what is f32 whatever the options (an amax)
  // above the elements, and all the same for the same sizes; a scalar of f32 is 1. Errors:
  // not_supported for arguments that are not given and that a header does not tell how to make
  // (structures, tensor maps, other scalars, integers that a kernel reads); value_missing for a
  // size; those of check_given() and of the device.
  static Result<Trial> make(const Specialization& specialization, std::shared_ptr<Device> device,
                            const RunSizes& sizes, const GivenArguments& given = {});

  std::span<const KernelArgument> arguments() const { return arguments_; }
  // How many draws of the inputs show that two configurations are alike: 1 where none is drawn.
  std::uint64_t draws() const { return largest_ > 0 ? draws_for(largest_) : 1; }
  // Puts that draw into the inputs; it has draw 0 from the beginning. Errors: of the device.
  Result<void> draw(std::uint64_t which);
  // What is written (out: 0xA5 everywhere; inout: zeros), as before the first launch.
  Result<void> reset() const;
  // A digest of each tensor that is written, in the order of the arguments.
  Result<std::vector<Digest>> outputs() const;
  // The bytes of each, in the same order.
  Result<std::vector<Bytes>> output_bytes() const;

 private:
  struct Memory {
    DeviceMemory memory;
    std::size_t bytes = 0;
    bool written = false;
    std::uint8_t before = 0;  // each byte of what is written
    DrawnTensor tensor;
    std::vector<Bytes> draws;  // of what is read, made when they are first asked for
    std::int64_t elements() const { return tensor.rows * tensor.cols; }
  };
  Result<void> add_tensor(const BoundArgument& argument, std::span<const std::int64_t> extents,
                          bool is_data);

  std::shared_ptr<Device> device_;
  std::vector<Memory> memory_;
  std::vector<KernelArgument> arguments_;
  std::int64_t largest_ = 0;  // elements of the largest input
};

// Milliseconds of one repetition, behind another of its kind: the device is busy while the host
// brings what is timed, and finds in its caches what the first leaves there. Errors: of the device.
Result<double> time_repetition(Device& device, RepeatedCalls& calls, Event from, Event to,
                               Stream stream);

// What a launch takes: the median of several samples and the span of their quartiles.
struct LaunchTime {
  std::int64_t ns = 0, spread = 0, samples = 0;  // spread: thousandths of the median
};
// Errors: invalid_argument (no samples).
Result<void> check_samples(int samples);
// Of many that follow each other in one CUDA graph, where they are short: the host's time is no
// part of it. The kernel must be resident. Errors: those of check_samples() and of a launch.
Result<LaunchTime> time_launch(const Kernel& kernel, std::span<const KernelArgument> arguments,
                               const LaunchTunes& tunes, int samples);

}  // namespace diecast
