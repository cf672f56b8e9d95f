// Whole casts by a group of threads, held against the full cast.
#pragma once

#include "ops/weight_list.h"

namespace diecast::weights_test {

struct GroupCast {
  bool gather = true;
  bool post = false;       // and the columnwise sides
  bool alone = false;      // a group of one, without a communicator
  bool callbacks = false;  // ranks speak through a caller's functions
};

// All ranks cast together, twice; empty, or what differs from the full cast on one of them (without
// gathering: in its own codes).
std::string cast_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device,
                          const Model& model, const Bounds& bounds, const GroupCast& how);

// All values of bf16 and of f16, as masters of either type and cut inside bytes: empty, or what
// differs.
std::string cast_every_sixteen_bit_value(Runtime& runtime, const std::shared_ptr<Device>& device);

// Steps of updates on the masters, one prepared cast on each rank: after every step each rank's
// whole weights equal the full cast of the masters.
std::string train_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device, Model& model,
                           const Bounds& bounds, int steps);

}  // namespace diecast::weights_test
