// Gate and up of two tensors, packed as halves of one.
#include <algorithm>

#include "ops/linear/pack_linear_fixture.h"

namespace diecast {
namespace {

class PackGateAndUp : public testing::PackLinearOnHost {};

// Of one weight and of several, whose gates lie one behind another, as do their ups.
TEST_F(PackGateAndUp, OfTwoTensorsHasTheBytesOfHalvesOfOne) {
  for (const Format format : {Format::nvfp4, Format::mxfp4}) {
    constexpr std::int64_t kWeights = 3, kHalf = 40, kCols = 160;
    const CheckpointWeight gate = drawn(format, kWeights * kHalf, kCols);
    CheckpointWeight up = drawn(format, kWeights * kHalf, kCols), both{format, 0, kCols, {}, {}};
    std::reverse(up.codes.begin(), up.codes.end());
    up.scales[static_cast<std::size_t>(kHalf * up.blocks())] = 0xFF;  // of the second weight's up
    const auto add_half = [&](std::vector<std::uint8_t>& to, const Octets& from, std::int64_t nth) {
      const auto bytes = static_cast<std::int64_t>(from.size()) / kWeights;
      to.insert(to.end(), from.begin() + nth * bytes, from.begin() + (nth + 1) * bytes);
    };
    for (std::int64_t i = 0; i < kWeights; ++i) {
      for (const CheckpointWeight* of : {&gate, static_cast<const CheckpointWeight*>(&up)})
        add_half(both.codes, of->codes, i), add_half(both.scales, of->scales, i);
    }
    LinearWeight one = view(both);
    one.shape = Shape{kWeights, 2 * kHalf, kCols};
    LinearWeight two = one;
    two.codes = const_cast<std::uint8_t*>(gate.codes.data());
    two.scales = const_cast<std::uint8_t*>(gate.scales.data());
    two.up_codes = up.codes.data(), two.up_scales = up.scales.data();
    Octets of_one, of_two;
    PackLinearStatus status_of_one, status_of_two;
    const PackedLinear to_one = room_for(one, of_one, Gated::halves);
    const PackedLinear to_two = room_for(two, of_two, Gated::halves);
    pack_linear(*runtime_, one, to_one, {&status_of_one, device_}).value();
    pack_linear(*runtime_, two, to_two, {&status_of_two, device_}).value();
    EXPECT_EQ(of_two, of_one);
    EXPECT_EQ(status_of_two.not_bf16, 1u);
    EXPECT_EQ(status_of_two.not_f16, status_of_one.not_f16);
    EXPECT_EQ(status_of_two.first_row_not_bf16, std::uint32_t{kHalf});
  }
}

TEST_F(PackGateAndUp, RefusesTwoTensorsThatAreNotHalves) {
  CheckpointWeight gate = drawn(Format::nvfp4, 16, 64), up = gate;
  Octets bytes;
  LinearWeight weight = view(gate);
  weight.shape = Shape{32, 64};
  weight.up_codes = up.codes.data();
  const auto refused = [&](const LinearWeight& of, Gated gated) {
    const PackedLinear to = room_for(of, bytes, gated);
    const auto packed = pack_linear(*runtime_, of, to, {nullptr, device_});
    return packed ? ErrorCode::internal : packed.error().code;
  };
  EXPECT_EQ(refused(weight, Gated::halves), ErrorCode::missing_buffer);  // up's scales
  weight.up_scales = up.scales.data();
  EXPECT_EQ(refused(weight, Gated::none), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(weight, Gated::alternate), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(weight, Gated::halves), ErrorCode::internal);  // it is packed
  LinearWeight within = weight;
  const PackedLinear to = room_for(weight, bytes, Gated::halves);
  within.up_scales = bytes.data() + 100;
  EXPECT_EQ(pack_linear(*runtime_, within, to, {nullptr, device_}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(unpack_linear(*runtime_, to, weight, device_).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
