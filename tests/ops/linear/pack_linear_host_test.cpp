// Packing weights on the host: there and back for every place in a tile, every code under every
// scale as a product decodes it, and the bytes that packed weights have had from the first.
#include <diecast/base/hash.h>
#include <diecast/diecast.h>
#include <diecast/ops/reference/packed_linear.h>

#include <cmath>

#include "ops/linear/pack_linear_fixture.h"

namespace diecast {
namespace {

using reference::CheckpointWeight;

class PackLinear : public testing::PackLinearOnHost {};

TEST_F(PackLinear, ComesBackFromEveryPlaceInATile) {
  for (const Format format : {Format::nvfp4, Format::mxfp4}) {
    for (std::int64_t rows = 64; rows < 128; ++rows) {
      const std::int64_t block = block_of(format);
      for (std::int64_t cols = 64; cols < 128; cols += block) {
        CheckpointWeight weight = drawn(format, rows, cols);
        for (const Gated gated : {Gated::none, Gated::halves, Gated::alternate}) {
          if (gated != Gated::none && rows % 16 != 0) continue;
          const CheckpointWeight again = back(weight, packed(weight, gated), gated);
          ASSERT_EQ(again.codes, weight.codes) << rows << "x" << cols << word(gated);
          ASSERT_EQ(again.scales, weight.scales) << rows << "x" << cols << word(gated);
        }
      }
    }
  }
}

// A row for each scale, all codes in each of its blocks, no two blocks in the same order.
CheckpointWeight every_code(Format format, int least, int most) {
  CheckpointWeight out{format, most - least + 1, 64, {}, {}};
  const int block = block_of(format);
  for (int scale = least; scale <= most; ++scale) {
    for (int col = 0; col < 64; col += 2) {
      const int first = (col + scale * 5 + col / 16 * 3) & 15, second = (first + 1) & 15;
      out.codes.push_back(static_cast<std::uint8_t>(first | second << 4));
    }
    for (int i = 0; i < 64 / block; ++i) out.scales.push_back(static_cast<std::uint8_t>(scale));
  }
  return out;
}

class DecodePacked : public PackLinear,
                     public ::testing::WithParamInterface<std::pair<Format, DType>> {
 protected:
  // The weights * 2^-7 of the packed bytes, [rows of whole tiles, 64].
  Octets decoded(Octets bytes, Format format, DType type) {
    const auto runtime = test_runtime_with("linear/decode_packed.cu");
    Bindings bindings;
    bindings.set("FORMAT", std::string(word(format))).set("IN", Value::of(type));
    const auto one = runtime->specialize_for("decode_packed", bindings, *device_).value();
    const auto kernel = runtime->preload(one, device_).value();
    const auto tiles =
        static_cast<std::int64_t>(bytes.size()) / (format == Format::nvfp4 ? 2304 : 2176);
    Octets out(static_cast<std::size_t>(tiles) * 64 * 64 * 2);
    kernel
        ->launch({{"packed", KernelArgument::tensor(DType::u8, bytes.data())},
                  {"out", KernelArgument::tensor(type, out.data())},
                  {"tiles", KernelArgument::size(tiles)}},
                 {})
        .value();
    return out;
  }
};

TEST_P(DecodePacked, GivesEveryCodeUnderEveryScaleExactly) {
  const auto [format, type] = GetParam();
  const bool mx = format == Format::mxfp4, bf16 = type == DType::bf16;
  CheckpointWeight weight = every_code(format, mx ? bf16 ? 2 : 111 : 0, mx ? 135 : 255);
  if (!mx) {  // NaN has no value
    for (auto& scale : weight.scales) scale = (scale & 0x7F) == 0x7F ? scale - 1 : scale;
  }
  const Octets found = decoded(packed(weight), format, type);
  for (std::int64_t row = 0; row < weight.rows; ++row) {
    for (std::int64_t col = 0; col < 64; ++col)
      ASSERT_EQ(reference::load(found.data(), type, row * 64 + col),
                std::ldexp(weight.value(row, col), -7))
          << row << ", " << col;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, DecodePacked,
    ::testing::Values(std::pair(Format::nvfp4, DType::bf16), std::pair(Format::nvfp4, DType::f16),
                      std::pair(Format::mxfp4, DType::bf16), std::pair(Format::mxfp4, DType::f16)),
    [](const auto& info) {
      return std::string(word(info.param.first)) + "_" + std::string(dtype_name(info.param.second));
    });

TEST_F(PackLinear, HasTheBytesOfVersion1) {
  ASSERT_EQ(PackedLinear::kVersion, 1);
  const auto digest = [&](Format format, Gated gated) {
    CheckpointWeight weight = drawn(format, 80, 96);
    const Octets bytes = packed(weight, gated);
    return xxh3_128(std::as_bytes(std::span(bytes))).hex();
  };
  EXPECT_EQ(digest(Format::nvfp4, Gated::none), "87232cf30b5c74361b4ce25906acc39d");
  EXPECT_EQ(digest(Format::nvfp4, Gated::halves), "820ef9485b56981990acdb0ef8bd5033");
  EXPECT_EQ(digest(Format::nvfp4, Gated::alternate), "18b7c9099f350460785bce2e5acea9c4");
  EXPECT_EQ(digest(Format::mxfp4, Gated::none), "a580861c1e9415569c53041c937c49ca");
  EXPECT_EQ(digest(Format::mxfp4, Gated::halves), "3a1392a8e5966d0019905fdb660fb399");
  EXPECT_EQ(digest(Format::mxfp4, Gated::alternate), "6e87d9512eb7eead1c5b5080c1f21628");
}

TEST_F(PackLinear, AStackOfWholeTilesIsItsPartsOneBehindAnother) {
  for (const Format format : {Format::nvfp4, Format::mxfp4}) {
    CheckpointWeight stack{format, 0, 160, {}, {}};
    Octets parts;
    for (const std::int64_t rows : {128, 64, 192}) {
      CheckpointWeight part = drawn(format, rows, 160);
      const Octets bytes = packed(part);
      parts.insert(parts.end(), bytes.begin(), bytes.end());
      stack.rows += rows;
      stack.codes.insert(stack.codes.end(), part.codes.begin(), part.codes.end());
      stack.scales.insert(stack.scales.end(), part.scales.begin(), part.scales.end());
    }
    EXPECT_EQ(packed(stack), parts);
  }
}

TEST_F(PackLinear, TellsWhatCannotBeHeld) {
  CheckpointWeight weight = drawn(Format::nvfp4, 70, 64);
  Octets bytes;
  const PackedLinear to = room_for(view(weight), bytes);
  PackLinearStatus status{9, 9, 9, 9};
  pack_linear(*runtime_, view(weight), to, {&status, device_}).value();
  EXPECT_EQ(status.not_bf16 + status.not_f16, 0u);
  EXPECT_EQ(status.first_row_not_bf16 & status.first_row_not_f16, ~0u);
  weight.scales[69 * 4] = 0xFF, weight.scales[33 * 4 + 3] = 0x7F;
  pack_linear(*runtime_, view(weight), to, {&status, device_}).value();
  EXPECT_EQ(status.not_bf16, 2u);
  EXPECT_EQ(status.first_row_not_f16, 33u);

  CheckpointWeight gated = drawn(Format::nvfp4, 32, 64);
  gated.scales[10 * 4] = 0x7F;  // packed as row 18
  const PackedLinear of_gated = room_for(view(gated), bytes, Gated::halves);
  pack_linear(*runtime_, view(gated), of_gated, {&status, device_}).value();
  EXPECT_EQ(status.first_row_not_bf16, 10u);

  CheckpointWeight mx = every_code(Format::mxfp4, 0, 255);
  const PackedLinear of_mx = room_for(view(mx), bytes);
  pack_linear(*runtime_, view(mx), of_mx, {&status, device_}).value();
  EXPECT_EQ(status.not_bf16, 2u * (256 - 134));
  EXPECT_EQ(status.not_f16, 2u * (256 - 25));
  EXPECT_EQ(status.first_row_not_bf16, 0u);
  std::fill(mx.codes.begin(), mx.codes.end(), 0x80);  // zeros have every scale but NaN
  pack_linear(*runtime_, view(mx), of_mx, {&status, device_}).value();
  EXPECT_EQ(status.not_bf16, 2u);
  EXPECT_EQ(status.first_row_not_f16, 255u);
}

TEST_F(PackLinear, RefusesWhatItCannotPack) {
  CheckpointWeight weight = drawn(Format::nvfp4, 70, 64);
  Octets bytes;
  const LinearWeight from = view(weight);
  const PackedLinear to = room_for(from, bytes);
  const auto refused = [&](const LinearWeight& given, const PackedLinear& room) {
    const auto packed = pack_linear(*runtime_, given, room, {nullptr, device_});
    const auto unpacked = unpack_linear(*runtime_, room, given, device_);
    EXPECT_TRUE(!packed && !unpacked && packed.error().code == unpacked.error().code);
    return packed ? ErrorCode::internal : packed.error().code;
  };
  const auto changed = [](auto what, auto change) {
    change(what);
    return what;
  };
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.version = 2; })), ErrorCode::not_supported);
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.bytes -= 1; })), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(from, changed(to,
                                  [](auto& p) {
                                    p.shape = Shape{64, 70};
                                  })),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.gated = Gated::halves; })),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.data = nullptr; })),
            ErrorCode::missing_buffer);
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.data = static_cast<char*>(p.data) + 8; })),
            ErrorCode::misaligned);
  EXPECT_EQ(refused(from, changed(to, [](auto& p) { p.format = Format::mxfp8_e4m3; })),
            ErrorCode::not_supported);
  EXPECT_EQ(refused(changed(from,
                            [](auto& w) {
                              w.shape = Shape{35, 128};
                            }),
                    to),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(changed(from, [](auto& w) { w.codes = nullptr; }), to),
            ErrorCode::missing_buffer);
  EXPECT_EQ(refused(changed(from, [](auto& w) { w.codes = static_cast<char*>(w.codes) + 4; }), to),
            ErrorCode::misaligned);
  EXPECT_EQ(refused(changed(from, [&](auto& w) { w.scales = bytes.data() + 100; }), to),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused(changed(from,
                            [](auto& w) {
                              w.shape = Shape{70, 40};
                            }),
                    to),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace diecast
