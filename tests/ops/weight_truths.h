// What must hold of sharded casts on every device: each function gives back nothing, or what
// differs from the full cast.
#pragma once

#include <diecast/diecast.h>

#include <memory>
#include <string>

namespace diecast::weights_test {

// Every way to cut small matrices, of odd rows too, into one to five shards.
std::string cast_every_split(Runtime& runtime, const std::shared_ptr<Device>& device);

// Linear scales in 128n rows of 4n columns, for any number of columns before the padding.
std::string cast_with_padded_scales(Runtime& runtime, const std::shared_ptr<Device>& device);

// Masters of NaN, of infinities, of zeros, of subnormals, of no elements.
std::string cast_nothing_finite(Runtime& runtime, const std::shared_ptr<Device>& device);

std::string cast_ten_thousand(Runtime& runtime, const std::shared_ptr<Device>& device);

// Weights, cuts, types, layouts, addresses and ways to gather, all drawn at random.
std::string cast_at_random(Runtime& runtime, const std::shared_ptr<Device>& device);

// A shard that begins inside a byte and behind 2^31 elements. Only the codes that it touches are
// there; the weight's would take 1 GiB.
std::string cast_behind_2_to_31(Runtime& runtime, const std::shared_ptr<Device>& device);

}  // namespace diecast::weights_test
