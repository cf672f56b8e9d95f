// The words of requests, by which a runtime keeps what it has prepared: of every op, each field
// makes another word, two fields never the same one, and a value that is none of its enum no word.
#include <diecast/diecast.h>
#include <diecast/ops/cublaslt/gemm_cublaslt.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace diecast {
namespace {

// Changes of a request, field by field, and what words they make.
template <class Request>
class Words {
 public:
  explicit Words(OpKind kind, const Request& plain = {}) : kind_(kind), plain_(plain) {}
  // Other values of a field than the plain request's.
  template <class Owner, class Value>
  Words& of(Value Owner::*field, const std::vector<Value>& values) {
    fields_.emplace_back();
    for (const Value value : values)
      fields_.back().push_back([field, value](Request& r) { r.*field = value; });
    if constexpr (std::is_enum_v<Value>) {
      Request wrong = plain_;
      for (int number = 16; number < 256; ++number) {
        wrong.*field = static_cast<Value>(number);
        EXPECT_EQ(wrong.word(), kNoWord) << "field " << fields_.size() << ": " << number;
      }
    }
    return *this;
  }
  Words& of(bool Request::*field) { return of(field, {!(plain_.*field)}); }
  template <class Owner>
  Words& of(bool Owner::*field) {
    return of(field, {!(plain_.*field)});
  }
  // Every change by itself and every two of different fields.
  void expect_apart() const {
    std::set<std::uint64_t> words;
    const auto add = [&](const Request& request) {
      EXPECT_TRUE(words.insert(request.word()).second);
      EXPECT_EQ(request.word() & 0xFF, static_cast<std::uint64_t>(kind_));
    };
    add(plain_);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      for (const auto& change : fields_[i]) {
        Request request = plain_;
        change(request);
        add(request);
        for (std::size_t j = 0; j < i; ++j)
          for (const auto& other : fields_[j]) {
            Request both = request;
            other(both);
            add(both);
          }
      }
  }

 private:
  OpKind kind_;
  Request plain_;
  std::vector<std::vector<std::function<void(Request&)>>> fields_;
};

const std::vector<DType> kTypes = {DType::f16, DType::f32, DType::i64};
const std::vector<RowsClass> kRows = {RowsClass::apart, RowsClass::any};
const std::vector<ScaleLayout> kLayouts = {ScaleLayout::s128x4, ScaleLayout::s8x4};
const std::vector<Profile> kProfiles = {Profile::pr546, Profile::torchao,
                                        Profile::flashinfer_dsl_fast};
const std::vector<std::uint16_t> kSigns = {1, 0x8000};

TEST(RequestWord, SaysThatAValueDidNotFit) {
  constexpr auto of = [](int value) { return request_word(OpKind::amax).add<2>(value).add<3>(1); };
  static_assert(of(3).word() == (1 | 3 << 8 | 1 << 10));
  static_assert(of(4).word() == kNoWord && of(-1).word() == kNoWord);
}

TEST(RequestWords, OfMaximaAreApart) {
  using One = PreparedAmax::Request;
  const std::vector<AmaxTransform> transforms = {AmaxTransform::row, AmaxTransform::column};
  Words<One>(OpKind::amax)
      .of(&One::in, kTypes)
      .of(&One::per, {AmaxPer::row, AmaxPer::column, AmaxPer::block, AmaxPer::tile})
      .of(&One::rows, kRows)
      .of(&One::nans, {AmaxNans::propagate})
      .of(&One::transform, transforms)
      .of(&One::sign_mask, kSigns)
      .of(&One::block, {8, 32, 128})
      .expect_apart();
  using Many = PreparedAmaxGrouped::Request;
  Words<Many>(OpKind::amax_grouped)
      .of(&Many::in, kTypes)
      .of(&Many::shared)
      .of(&Many::per, {AmaxPer::row, AmaxPer::column, AmaxPer::tile})
      .of(&Many::rows, {RowsClass::dense, RowsClass::any})
      .of(&Many::nans, {AmaxNans::propagate})
      .of(&Many::transform, transforms)
      .of(&Many::sign_mask, kSigns)
      .expect_apart();
}

TEST(RequestWords, OfQuantizeNvfp4AreApart) {
  using R = PreparedQuantizeNvfp4::Request;
  Words<R>(OpKind::quantize_nvfp4)
      .of(&R::in, kTypes)
      .of(&R::row_scaled)
      .of(&R::amax_given)
      .of(&R::rows, kRows)
      .of(&R::profile, kProfiles)
      .of(&R::cols, {std::int64_t{16}, R::kLongestKept})
      .of(&R::global, {GlobalScale::encode, GlobalScale::decode, GlobalScale::none})
      .of(&R::layout, kLayouts)
      .of(&R::scales_apart)
      .of(&R::four_over_six, {FourOverSix::mae, FourOverSix::mse})
      .of(&R::e4m3_bound, {256})
      .of(&R::rht)
      .of(&R::sign_mask, kSigns)
      .of(&R::block_amax)
      .of(&R::stochastic)
      .expect_apart();
  EXPECT_EQ(R{.cols = R::kLongestKept + 1}.word(), R{}.word());
}

template <class R>
Words<R> tiles(OpKind kind) {
  return Words<R>(kind)
      .of(&R::in, kTypes)
      .of(&R::rowwise)
      .of(&R::columnwise)
      .of(&R::block_rows, {16})
      .of(&R::row_scaled)
      .of(&R::amax_given)
      .of(&R::rows, {RowsClass::any})
      .of(&R::profile, kProfiles)
      .of(&R::global, {GlobalScale::encode, GlobalScale::decode, GlobalScale::none})
      .of(&R::layout, kLayouts)
      .of(&R::four_over_six, {FourOverSix::mae, FourOverSix::mse})
      .of(&R::e4m3_bound, {256})
      .of(&R::rht, {TransformedSides::rowwise, TransformedSides::both})
      .of(&R::sign_mask, kSigns)
      .of(&R::block_amax)
      .of(&R::stochastic);
}

TEST(RequestWords, OfTilesAreApart) {
  using Grouped = PreparedQuantizeNvfp4Grouped::Request;
  tiles<PreparedQuantizeNvfp4Tiles::Request>(OpKind::quantize_nvfp4_tiles).expect_apart();
  tiles<Grouped>(OpKind::quantize_nvfp4_grouped).of(&Grouped::described).expect_apart();
}

template <class R>
Words<R> mx(OpKind kind) {
  return Words<R>(kind)
      .of(&R::in, kTypes)
      .of(&R::format, {Format::mxfp8_e5m2, Format::mxfp4})
      .of(&R::mode, {MxMode::floor, MxMode::ceil, MxMode::even})
      .of(&R::profile, kProfiles)
      .of(&R::layout, kLayouts)
      .of(&R::rowwise)
      .of(&R::whole_blocks)
      .of(&R::cols, {std::int64_t{32}, std::int64_t{1} << 36});
}

TEST(RequestWords, OfMxFormatsAreApart) {
  using One = PreparedQuantizeMx::Request;
  mx<One>(OpKind::quantize_mx).of(&One::columnwise).of(&One::square_blocks).expect_apart();
  mx<One>(OpKind::quantize_mx).of(&One::scales_apart).expect_apart();
  using Many = PreparedQuantizeMxGrouped::Request;
  mx<Many>(OpKind::quantize_mx_grouped)
      .of(&Many::columnwise)
      .of(&Many::square_blocks)
      .of(&Many::described)
      .expect_apart();
}

TEST(RequestWords, OfDequantizingAreApart) {
  using Mx = PreparedDequantizeMx::Request;
  Words<Mx>(OpKind::dequantize_mx)
      .of(&Mx::out, kTypes)
      .of(&Mx::format, {Format::mxfp8_e5m2, Format::mxfp4})
      .of(&Mx::layout, kLayouts)
      .of(&Mx::columnwise)
      .of(&Mx::whole_blocks)
      .of(&Mx::cols, {std::int64_t{32}, std::int64_t{1} << 45})
      .expect_apart();
  using Nvfp4 = PreparedDequantizeNvfp4::Request;
  Words<Nvfp4>(OpKind::dequantize_nvfp4)
      .of(&Nvfp4::out, kTypes)
      .of(&Nvfp4::row_scaled)
      .of(&Nvfp4::form, {GlobalForm::decode})
      .of(&Nvfp4::rows, kRows)
      .of(&Nvfp4::cols, {std::int64_t{16}, std::int64_t{1} << 25})
      .of(&Nvfp4::layout, kLayouts)
      .of(&Nvfp4::e4m3_bound, {256})
      .of(&Nvfp4::block, {8, 32, 64, 128})
      .of(&Nvfp4::scales_apart)
      .of(&Nvfp4::columnwise)
      .of(&Nvfp4::threads, {64, 128, 256})
      .expect_apart();
}

TEST(RequestWords, OfFakeQuantizationAreApart) {
  using Scales = PreparedComputeFp4Scales::Request;
  Words<Scales>(OpKind::compute_fp4_scales)
      .of(&Scales::quantize)
      .of(&Scales::global_given)
      .of(&Scales::fp8, {Fp8Conversion::extension})
      .expect_apart();
  using Static = PreparedStaticFp4FakeQuant::Request;
  Words<Static>(OpKind::static_blockwise_fp4_fake_quant)
      .of(&Static::in, kTypes)
      .of(&Static::out, kTypes)
      .of(&Static::block, {0, 8, 128})
      .of(&Static::aligned)
      .of(&Static::scales,
          {Scales{false}, Scales{true, true}, Scales{true, false, Fp8Conversion::extension}})
      .expect_apart();
  EXPECT_EQ((Static{.scales = {.fp8 = static_cast<Fp8Conversion>(64)}}.word()), kNoWord);
  using Block = PreparedFp4FakeQuantBlock::Request;
  Words<Block>(OpKind::fp4_fake_quant_block)
      .of(&Block::in, kTypes)
      .of(&Block::block, {8, 128})
      .of(&Block::cols, {std::int64_t{16}, std::int64_t{1} << 39})
      .of(&Block::rows, kRows)
      .expect_apart();
}

TEST(RequestWords, OfLayoutsAreApart) {
  using Arrange = PreparedArrangeScales::Request;
  Words<Arrange>(OpKind::arrange_scales, {ScaleLayout::linear, ScaleLayout::linear})
      .of(&Arrange::from, kLayouts)
      .of(&Arrange::to, kLayouts)
      .of(&Arrange::tiles)
      .of(&Arrange::rescale)
      .expect_apart();
  using Codes = PreparedTransposeCodes::Request;
  Words<Codes>(OpKind::transpose_codes).of(&Codes::pad, {2}).of(&Codes::whole_words).expect_apart();
  EXPECT_EQ(Codes{.pad = -16}.word(), kNoWord);
  using Transpose = PreparedTransposeNvfp4::Request;
  Words<Transpose>(OpKind::transpose_nvfp4).of(&Transpose::layout, kLayouts).expect_apart();
}

TEST(RequestWords, OfProductsAreApart) {
  const std::vector<std::optional<DType>> biases = {DType::bf16, DType::f32};
  using Own = PreparedGemmNvfp4::Request;
  Words<Own>(OpKind::gemm_nvfp4)
      .of(&Own::out, kTypes)
      .of(&Own::layout, kLayouts)
      .of(&Own::a_rows)
      .of(&Own::b_rows)
      .of(&Own::bias, biases)
      .of(&Own::accumulate)
      .of(&Own::wide)
      .of(&Own::grouped)
      .of(&Own::columns, {GemmColumns::of_b, GemmColumns::of_both})
      .of(&Own::tile, {GemmTile::small})
      .of(&Own::math, {GemmMath::s8, GemmMath::dp4a})
      .expect_apart();
  using Library = PreparedGemmCublaslt::Request;
  Words<Library>(OpKind::gemm_cublaslt)
      .of(&Library::out, kTypes)
      .of(&Library::a_rows)
      .of(&Library::b_rows)
      .of(&Library::bias, biases)
      .of(&Library::accumulate)
      .expect_apart();
}

}  // namespace
}  // namespace diecast
