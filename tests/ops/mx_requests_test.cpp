// Requests of the MX ops and of dequantizing: what makes another kernel makes another word, by
// which a runtime keeps what it has prepared.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <set>

namespace diecast {
namespace {

// `plain` and each change of it by itself.
template <class Request, class... Change>
std::set<std::uint64_t> words_of(const Request& plain, Change... change) {
  std::set<std::uint64_t> words = {plain.word()};
  const auto add = [&](auto& one) {
    Request request = plain;
    one(request);
    EXPECT_TRUE(words.insert(request.word()).second);
  };
  (add(change), ...);
  return words;
}

template <class Request>
std::set<std::uint64_t> quantizing_words() {
  return words_of(
      Request{}, [](Request& r) { r.in = DType::f16; },
      [](Request& r) { r.format = Format::mxfp4; }, [](Request& r) { r.mode = MxMode::even; },
      [](Request& r) { r.profile = Profile::torchao; },
      [](Request& r) { r.layout = ScaleLayout::s8x4; }, [](Request& r) { r.rowwise = false; },
      [](Request& r) { r.columnwise = true; }, [](Request& r) { r.square_blocks = true; },
      [](Request& r) { r.whole_blocks = false; }, [](Request& r) { r.cols = 4096; });
}

TEST(MxRequests, HaveWordsOfTheirOwn) {
  std::set<std::uint64_t> all = quantizing_words<PreparedQuantizeMx::Request>();
  all.merge(quantizing_words<PreparedQuantizeMxGrouped::Request>());
  using Plain = PreparedQuantizeMx::Request;
  all.merge(words_of(Plain{DType::bf16, Format::mxfp4}, [](Plain& r) { r.scales_apart = true; }));
  using Grouped = PreparedQuantizeMxGrouped::Request;
  all.merge(words_of(Grouped{{DType::f16}}, [](Grouped& r) { r.described = true; }));
  EXPECT_EQ(all.size(), 11u + 11u + 1u + 1u);  // the last two sets share their plain ones
}

TEST(MxRequests, OfDequantizingHaveWordsOfTheirOwn) {
  using Mx = PreparedDequantizeMx::Request;
  std::set<std::uint64_t> all = words_of(
      Mx{}, [](Mx& r) { r.out = DType::f16; }, [](Mx& r) { r.format = Format::mxfp8_e5m2; },
      [](Mx& r) { r.layout = ScaleLayout::s128x4; }, [](Mx& r) { r.columnwise = true; },
      [](Mx& r) { r.whole_blocks = false; }, [](Mx& r) { r.cols = 64; });
  using Nvfp4 = PreparedDequantizeNvfp4::Request;
  all.merge(words_of(
      Nvfp4{}, [](Nvfp4& r) { r.columnwise = true; }, [](Nvfp4& r) { r.scales_apart = true; },
      [](Nvfp4& r) { r.threads = 128; }, [](Nvfp4& r) { r.block = 32; }));
  EXPECT_EQ(all.size(), 7u + 5u);
}

// Half a block at the end of a row is whole to quantize_mx, which alone takes halves of blocks.
TEST(MxRequests, KnowWhatIsWhole) {
  alignas(16) static std::uint16_t elements[4 * 96];
  const auto whole = [](std::int64_t cols, bool rows_alone, bool grouped) {
    const Tensor x{elements, DType::bf16, {4, cols}};
    QuantizedTensor out;
    out.format = Format::mxfp8_e4m3;
    out.shape = x.shape;
    if (!rows_alone) out.columnwise.data = elements;
    using Request = PreparedQuantizeMx::Request;
    return Request::of(x, out, MxMode::rceil, grouped).whole_blocks;
  };
  EXPECT_TRUE(whole(96, true, false) && whole(96, false, false) && whole(96, true, true));
  EXPECT_TRUE(whole(80, true, false));
  EXPECT_FALSE(whole(80, false, false) || whole(80, true, true) || whole(72, true, false));
}

// How far apart a member's scales are stands in its descriptor, those of tiles in an argument.
TEST(MxRequests, OfGroupsAndTilesAreOneWhateverTheStrides) {
  PreparedQuantizeMxGrouped::Request group, apart_group;
  apart_group.scales_apart = true;
  EXPECT_EQ(group.word(), apart_group.word());
  PreparedQuantizeMx::Request tiles{.columnwise = true}, apart_tiles = tiles;
  apart_tiles.scales_apart = true;
  EXPECT_EQ(tiles.word(), apart_tiles.word());
  EXPECT_EQ(tiles.bindings(false), apart_tiles.bindings(false));
}

}  // namespace
}  // namespace diecast
