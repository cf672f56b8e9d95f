// Tensors that lie anywhere, in one launch: each is what it is by itself, amaxes own or shared.
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class TensorGroupOnHost : public TilesOnHost {
 protected:
  static constexpr std::int64_t kCols = 80;

  // Matrices of several sizes, one without rows, one with its rows apart, and outputs as `change`
  // wants them.
  template <class Change>
  std::vector<QuantizedPair> pairs(Change change) {
    std::vector<QuantizedPair> out;
    for (const std::int64_t rows : {33, 0, 128, 1, 38}) {
      QuantizedPair pair;
      pair.x = matrix(rows, kCols, static_cast<std::uint64_t>(rows + 1));
      if (rows == 38) {
        pair.x = matrix(rows, kCols + 16, 7);
        pair.x.shape = {rows, kCols};
        pair.x.row_stride = kCols + 16;
      }
      pair.out = output(pair.x, change);
      out.push_back(pair);
    }
    return out;
  }

  TensorGroup described(const std::vector<QuantizedPair>& pairs) {
    TensorGroup group{pairs, nullptr};
    std::vector<MemberDescriptor> members(pairs.size());
    group.describe(members.data()).value();
    group.members = memory(members);
    return group;
  }

  void expect_alone(const QuantizedPair& pair, QuantizeNvfp4Options options,
                    const std::string& what) {
    QuantizedTensor own = pair.out;
    for (QuantizedSide* side : {&own.rowwise, &own.columnwise}) {
      const float* const given = side->amax;
      if (side->present()) allocate(*side);
      if (!options.amax_given || !side->present()) continue;
      std::copy(given, given + side->amax_count, side->amax);
    }
    quantize_nvfp4(*runtime_, pair.x, own, options).value();
    expect_equal(pair.out.rowwise, own.rowwise, what + " rowwise");
    expect_equal(pair.out.columnwise, own.columnwise, what + " columnwise");
  }

  template <class Change>
  void expect_one_by_one(QuantizeNvfp4Options options, const std::string& what, Change change) {
    options.device = device_;
    const auto all = pairs(change);
    quantize_nvfp4_grouped(*runtime_, described(all), options).value();
    for (const QuantizedPair& pair : all) {
      expect_alone(pair, options, what + " " + pair.x.shape.text());
    }
  }
};

TEST_F(TensorGroupOnHost, EqualsOneByOne) {
  QuantizeNvfp4Options options;
  expect_one_by_one(options, "plain", [](QuantizedTensor&) {});
  expect_one_by_one(options, "row-scaled", [](QuantizedTensor& out) {
    out.type.row_scaled = true;
    out.type.layout = ScaleLayout::s8x4;
  });
  options.rht = TransformedSides::both;
  expect_one_by_one(options, "transformed", [](QuantizedTensor& out) {
    out.type.row_scaled = true;
    out.type.layout = ScaleLayout::s128x4;
  });
  options.rht = TransformedSides::none;
  options.four_over_six = FourOverSix::mae;
  expect_one_by_one(options, "squares, four over six", [](QuantizedTensor& out) {
    out.type.square = true;
    out.type.layout = ScaleLayout::s128x4;
  });
}

TEST_F(TensorGroupOnHost, ScalesOfEachPairMayBeApart) {
  auto all = pairs([](QuantizedTensor&) {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t gap = static_cast<std::int64_t>(i);
    QuantizedSide &across = all[i].out.rowwise, &down = all[i].out.columnwise;
    across.scale_stride = kCols / 16 + gap;
    across.scale_bytes = across.scale_stride * all[i].x.rows();
    down.scale_stride = ceil_div(all[i].x.rows(), 16) + 2 * gap;
    down.scale_bytes = down.scale_stride * kCols;
    allocate(across), allocate(down);
  }
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4_grouped(*runtime_, described(all), options).value();
  for (const QuantizedPair& pair : all) expect_alone(pair, options, pair.x.shape.text());
}

// Two pairs share one amax and three another, for both directions or for each its own.
TEST_F(TensorGroupOnHost, SharedAmaxesAreOfAllThatShareThem) {
  for (const auto rht : {TransformedSides::none, TransformedSides::columnwise}) {
    auto all = pairs([](QuantizedTensor&) {});
    float* const amaxes = reinterpret_cast<float*>(memory(4 * 4));
    std::vector<Tensor> shares[2];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t share = i < 2 ? 0 : 1;
      shares[share].push_back(all[i].x);
      all[i].out.rowwise.amax = amaxes + share;
      all[i].out.columnwise.amax = amaxes + (rht == TransformedSides::none ? share : share + 2);
    }
    QuantizeNvfp4Options options;
    options.device = device_;
    options.rht = rht;
    quantize_nvfp4_grouped(*runtime_, described(all), options).value();
    for (std::size_t share = 0; share < 2; ++share) {
      auto* const want = reinterpret_cast<float*>(memory(2 * 4));
      AmaxOptions wish{AmaxPer::tensor, false, device_};
      amax_shared(*runtime_, shares[share], want, wish).value();
      EXPECT_EQ(amaxes[share], want[0]);
      if (rht == TransformedSides::none) continue;
      wish.transform = AmaxTransform::columnwise;
      wish.sign_mask = options.sign_mask;
      amax_shared(*runtime_, shares[share], want + 1, wish).value();
      EXPECT_EQ(amaxes[share + 2], want[1]);
    }
    EXPECT_NE(amaxes[0], amaxes[1]);
    options.amax_given = true;
    for (const QuantizedPair& pair : all) expect_alone(pair, options, pair.x.shape.text());
  }
}

// As rowwise_sizes() has it: one amax, and nowhere to put it.
TEST_F(TensorGroupOnHost, APairWithoutRowsNeedsNoAmax) {
  auto all = pairs([](QuantizedTensor&) {});
  for (QuantizedPair& pair : all) {
    if (pair.x.rows() > 0) continue;
    pair.out.rowwise = pair.out.rowwise_sizes().value();
    pair.out.columnwise = pair.out.columnwise_sizes().value();
  }
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4_grouped(*runtime_, described(all), options).value();
  for (const QuantizedPair& pair : all) {
    if (pair.x.rows() > 0) expect_alone(pair, options, pair.x.shape.text());
  }
}

// Before there are codes.
TEST_F(TensorGroupOnHost, ASideMayBeItsAmaxAlone) {
  auto all = pairs([](QuantizedTensor&) {});
  for (QuantizedPair& pair : all) {
    pair.out.columnwise.data = pair.out.columnwise.scale = nullptr;
    if (pair.x.rows() > 0) *pair.out.rowwise.amax = *pair.out.columnwise.amax = -1;
  }
  PreparedAmaxGrouped::Request request;
  request.in = all[0].x.dtype;
  request.rows = RowsClass::any;
  const auto op = PreparedAmaxGrouped::prepare(*runtime_, device_, request).value();
  op.run(described(all), Sides::both, {}).value();
  for (const QuantizedPair& pair : all) {
    if (pair.x.rows() == 0) continue;
    float want = 0;
    amax(*runtime_, pair.x, &want, {.device = device_, .nans = request.nans}).value();
    EXPECT_EQ(*pair.out.rowwise.amax, want) << pair.x.shape.text();
    EXPECT_EQ(*pair.out.columnwise.amax, want) << pair.x.shape.text();
  }
}

TEST_F(TensorGroupOnHost, AListWithAMatrixThatIsNotAsPreparedLeavesItsResultAlone) {
  PreparedAmaxGrouped::Request request;
  request.shared = true;
  Tensor x = matrix(2, kCols, 3);
  request.in = x.dtype;
  const auto op = PreparedAmaxGrouped::prepare(*runtime_, device_, request).value();
  std::vector<Tensor> matrices(20, x);
  matrices.back().shape = {1, kCols};
  matrices.back().data = static_cast<std::uint8_t*>(x.data) + dtype_bits(x.dtype) / 8;
  float result = 7;
  const auto refused = op.run(matrices, &result, false, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "amax_grouped: matrix 19 is not whole blocks of 16 from multiples of 16 bytes on, as "
            "prepared for");
  EXPECT_EQ(result, 7);
}

TEST_F(TensorGroupOnHost, OfNothingIsNothing) {
  quantize_nvfp4_grouped(*runtime_, TensorGroup{}, {}).value();
  QuantizedPair empty;
  empty.x = matrix(0, kCols, 2);
  empty.out.shape = empty.x.shape;
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4_grouped(*runtime_, described({empty}), options).value();
}

}  // namespace
}  // namespace diecast
