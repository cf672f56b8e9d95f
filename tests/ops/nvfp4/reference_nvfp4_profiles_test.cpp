// Profiles pr546, modelopt, torchao and te_ref by worked examples, and the rows where they part:
// zeros of both signs, subnormals, infinities, NaN, block scales that underflow, global scales that
// saturate.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>
#include <gtest/gtest.h>
#include <ops/host_matrix.h>
#include <ops/second_formulations.h>

#include <cfloat>
#include <vector>

namespace diecast::reference {
namespace {

using second::bits_of;
using second::float_of;
using Bytes = std::vector<std::uint8_t>;
using second::kInf;
using second::kNaN;
constexpr Profile kOthers[] = {Profile::pr546, Profile::modelopt, Profile::torchao};
constexpr Profile kKeepNaN[] = {Profile::pr546, Profile::modelopt, Profile::torchao,
                                Profile::te_ref};

bool gives_nan_code_zero(Profile profile) {
  return profile == Profile::pr546 || profile == Profile::te_ref;
}

Nvfp4 quantized(Profile profile, const std::vector<float>& row, std::vector<float> given = {},
                GlobalScale global = GlobalScale::amax) {
  HostMatrix x(DType::f32, 1, row);
  Nvfp4Options options;
  options.profile = profile;
  options.global = global;
  if (given.empty() && global == GlobalScale::amax) given = amax(x.view(), options).value();
  return quantize_nvfp4(x.view(), options, given).value();
}

// `first` and then zeros, as whole blocks.
std::vector<float> row_of(std::vector<float> first, std::size_t size = 16) {
  first.resize(size, 0.0f);
  return first;
}

TEST(ReferenceNvfp4Profiles, AgreeOnAUnitBlockButForTheSignOfZero) {
  const std::vector<float> x = {0,     -0.0f, .25f,  -.5f, .75f, 1,  -1.25f, 1.5f,
                                1.75f, 2,     -2.5f, 3,    3.5f, -4, 5,      6};
  for (const Profile profile : kKeepNaN) {
    const Nvfp4 q = quantized(profile, x, {2688.0f});
    EXPECT_EQ(q.scales, Bytes{0x38});
    Bytes codes = {0x80, 0x90, 0x22, 0x3A, 0x44, 0x5C, 0xE6, 0x76};
    if (profile != Profile::torchao) codes[0] = 0x00;
    EXPECT_EQ(q.codes, codes) << word(profile);
  }
}

// The real value is exactly half way between two scales; te rounds upwards before it gets there.
TEST(ReferenceNvfp4Profiles, AScaleTieThatTeBreaksIsATieHere) {
  EXPECT_EQ(te_block_scale(0.26953125f, te_encode_scale(1.4375f)), 0x6B);
  for (const Profile profile : kOthers) {
    EXPECT_EQ(quantized(profile, row_of({0.26953125f}), {1.4375f}).scales, Bytes{0x6A})
        << word(profile);
  }
  EXPECT_EQ(modelopt_static_block({}, 0.26953125f, 1.4375f, 448).scale, 0x6A);
  HostMatrix x(DType::bf16, 1,
               {0.26953125f, -.2f, .15f, -.1f, .05f, -.025f, .0125f, -.00625f, .25f, -.22f, .18f,
                -.14f, .11f, -.08f, .06f, -.03f});
  Nvfp4Options options;
  options.profile = Profile::pr546;
  EXPECT_EQ(quantize_nvfp4(x.view(), options, {1.4375f}).value().codes,
            (Bytes{0xE7, 0xC6, 0x92, 0x81, 0xF7, 0xD6, 0xC5, 0x93}));
}

// A global scale that is a power of two hides the difference: tests of te must not use such a one.
TEST(ReferenceNvfp4Profiles, APowerOfTwoGlobalScaleHidesTheOrderOfTheFactors) {
  const float encode_scale = te_encode_scale(21504.0f);
  EXPECT_EQ(encode_scale, 0.125f);
  for (int i = 1; i < 4096; ++i) {
    const float block_amax = static_cast<float>(i) * 5.25f;
    Sixteen x{};
    x[0] = block_amax;
    EXPECT_EQ(te_block_scale(block_amax, encode_scale),
              pr546_block(x, block_amax, encode_scale, 8.0f).scale);
  }
}

TEST(ReferenceNvfp4Profiles, ModeloptDividesByTheRoundedProduct) {
  const float amax = float_of(0x3BFC0000), x = float_of(0x39960000);
  const float scale_2 = modelopt_scale_2(amax, 448);
  EXPECT_EQ(bits_of(40.0f * scale_2), 0x38F00000u);
  Sixteen values{};
  values[0] = x;
  const Block block = modelopt_block(values, 240.0f * scale_2, scale_2);
  EXPECT_EQ(block.scale, 0x62);
  EXPECT_EQ(block.codes[0], 4);  // 2.5 exactly; te's product is an ulp above and gives 5
}

// As on a GPU: dividing a tensor by a number is multiplying by the number's reciprocal.
TEST(ReferenceNvfp4Profiles, NumbersOfModeloptAndTorchaoAreThoseOfAGpu) {
  EXPECT_EQ(bits_of(modelopt_scale_2(1.03125f, 448)), 0x39C92493u);  // by division: ...92
  EXPECT_EQ(bits_of(torchao_per_tensor_scale(1.03125f)), 0x39C92493u);
  EXPECT_EQ(bits_of(modelopt_scale_2(1.0f, 256)), 0x3A2AAAABu);
}

TEST(ReferenceNvfp4Profiles, AMatrixOfZeros) {
  const std::vector<float> zeros = row_of({0.0f, -0.0f, 0.0f, -0.0f});
  const Nvfp4 pr546 = quantized(Profile::pr546, zeros);
  EXPECT_EQ(pr546.scales, Bytes{0x00});
  EXPECT_EQ(pr546.codes, Bytes(8, 0x00));
  const Nvfp4 te_ref = quantized(Profile::te_ref, zeros);
  EXPECT_EQ(te_ref.scales, Bytes{0x00});
  EXPECT_EQ(te_ref.codes, Bytes(8, 0x00));
  const Nvfp4 modelopt = quantized(Profile::modelopt, zeros);  // upstream: 0 / 0, 0x7F and codes 7
  EXPECT_EQ(modelopt.scales, Bytes{0x38});
  EXPECT_EQ(modelopt.codes, Bytes(8, 0x00));
  const Nvfp4 torchao = quantized(Profile::torchao, zeros);  // as upstream
  EXPECT_EQ(torchao.scales, Bytes{0x7F});
  EXPECT_EQ(torchao.codes, Bytes(8, 0x77));
  const Nvfp4 one_level = quantized(Profile::torchao, zeros, {}, GlobalScale::none);
  EXPECT_EQ(one_level.scales, Bytes{0x08});
  EXPECT_EQ(one_level.codes, (Bytes{0x80, 0x80, 0, 0, 0, 0, 0, 0}));
}

TEST(ReferenceNvfp4Profiles, ABlockOfZerosAmongOthers) {
  const std::vector<float> x =
      row_of({6.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -0.0f}, 32);
  const auto second = [&](Profile profile) {
    const Nvfp4 q = quantized(profile, x);
    return std::pair(int{q.scales[1]}, int{q.codes[8]});
  };
  EXPECT_EQ(second(Profile::te), std::pair(0x00, 8));
  EXPECT_EQ(second(Profile::pr546), std::pair(0x00, 0));
  EXPECT_EQ(second(Profile::te_ref), std::pair(0x00, 0));
  EXPECT_EQ(second(Profile::modelopt), std::pair(0x38, 0));
  EXPECT_EQ(second(Profile::torchao), std::pair(0x08, 8));
}

// Blocks so small beside their tensor that the scaled amax rounds to 0.
TEST(ReferenceNvfp4Profiles, ABlockScaleThatUnderflows) {
  std::vector<float> x(16, 1e-3f);
  x[15] = -1e-3f;
  const auto first = [&](Profile profile) { return quantized(profile, x, {268288.0f}); };
  for (const Profile profile : {Profile::pr546, Profile::te_ref}) {
    EXPECT_EQ(first(profile).scales, Bytes{0x00}) << word(profile);
    EXPECT_EQ(first(profile).codes, (Bytes{0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0xF7}));
  }
  EXPECT_EQ(first(Profile::modelopt).scales, Bytes{0x01});
  EXPECT_EQ(first(Profile::torchao).scales, Bytes{0x08});
  for (const Profile profile : {Profile::modelopt, Profile::torchao}) {
    EXPECT_EQ(first(profile).codes, (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80})) << word(profile);
  }
}

TEST(ReferenceNvfp4Profiles, NegativeValuesThatRoundToZeroKeepTheirSign) {
  for (const Profile profile : kKeepNaN) {
    EXPECT_EQ(quantized(profile, row_of({-0.01f, 6.0f}), {2688.0f}).codes[0], 0x78)
        << word(profile);
  }
}

TEST(ReferenceNvfp4Profiles, NaNIsInTheAmaxAndSoEverywhere) {
  for (const Profile profile : kKeepNaN) {
    const Nvfp4 q = quantized(profile, row_of({kNaN, 1.0f, -kNaN}, 32));
    EXPECT_EQ(bits_of(q.amax[0]), 0x7FFFFFFFu);
    EXPECT_EQ(q.scales, (Bytes{0x7F, 0x7F})) << word(profile);
    EXPECT_EQ(q.codes, Bytes(16, gives_nan_code_zero(profile) ? 0x00 : 0x77)) << word(profile);
  }
}

TEST(ReferenceNvfp4Profiles, AGivenAmaxConfinesNaNToItsBlock) {
  for (const Profile profile : kKeepNaN) {
    std::vector<float> x = row_of({kNaN, 1.0f}, 32);
    x[16] = 6.0f;
    const Nvfp4 q = quantized(profile, x, {2688.0f});
    EXPECT_EQ(q.scales, (Bytes{0x7F, 0x38})) << word(profile);
    EXPECT_EQ(q.codes[0], gives_nan_code_zero(profile) ? 0x00 : 0x77);
    EXPECT_EQ(q.codes[8], 0x07);
  }
}

TEST(ReferenceNvfp4Profiles, Infinity) {
  std::vector<float> x = row_of({kInf, 1000.0f, -kInf}, 32);
  x[16] = 6.0f;
  x[17] = -6.0f;
  for (const Profile profile : {Profile::pr546, Profile::te_ref}) {  // S = 1, as te
    const Nvfp4 q = quantized(profile, x);
    EXPECT_EQ(q.scales, (Bytes{0x7E, 0x38})) << word(profile);
    EXPECT_EQ((Bytes{q.codes[0], q.codes[1], q.codes[8]}), (Bytes{0x47, 0x0F, 0xF7}));
  }
  const Nvfp4 modelopt = quantized(Profile::modelopt, x);  // inf / inf, and 6 / inf = 0 counts as 1
  EXPECT_EQ(modelopt.scales, (Bytes{0x7F, 0x38}));
  EXPECT_EQ((Bytes{modelopt.codes[0], modelopt.codes[8]}), (Bytes{0x77, 0x00}));
  const Nvfp4 torchao = quantized(Profile::torchao, x);
  EXPECT_EQ(torchao.scales, (Bytes{0x7F, 0x08}));
  EXPECT_EQ((Bytes{torchao.codes[0], torchao.codes[8]}), (Bytes{0x77, 0x80}));
}

TEST(ReferenceNvfp4Profiles, TinyTensorsNeedSubnormals) {
  const std::vector<float> x = row_of({0, 0, 0, 1e-37f});
  EXPECT_EQ(pr546_encode_scale(1e-37f), FLT_MAX);
  for (const Profile profile : {Profile::pr546, Profile::te_ref}) {
    EXPECT_EQ(quantized(profile, x).scales, Bytes{0x4B});  // S saturates: not 0x7E
    EXPECT_EQ(quantized(profile, x).codes[1], 0x70);
  }
  EXPECT_LT(modelopt_scale_2(1e-37f, 448), FLT_MIN);
  EXPECT_EQ(quantized(Profile::modelopt, x).scales, Bytes{0x7E});
  EXPECT_EQ(quantized(Profile::modelopt, x).codes, (Bytes{0, 0x70, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(quantized(Profile::torchao, x).scales, Bytes{0x7E});
  EXPECT_EQ(quantized(Profile::torchao, x).codes, Bytes(8, 0x77));  // 1 / pts is infinite: 0 is NaN
}

TEST(ReferenceNvfp4Profiles, AnAmaxThatIsTooSmallSaturates) {
  for (const Profile profile : kKeepNaN) {
    const Nvfp4 q = quantized(profile, row_of({100.0f, -100.0f, 1.0f}), {1.0f});
    EXPECT_EQ(q.scales, Bytes{0x7E}) << word(profile);
    EXPECT_EQ(q.codes[0], 0xF7) << word(profile);
  }
}

// What a caller computes as (448 * 6) / amax in Python is a product by the reciprocal: it is not S.
TEST(ReferenceNvfp4Profiles, AGivenEncodeScaleIsTakenAsItIs) {
  const float amax = 1.75f, by_reciprocal = (1.0f / amax) * 2688.0f;
  const std::vector<float> x = row_of({float_of(0x3F680000)});
  EXPECT_EQ(quantized(Profile::te, x, {amax}).scales, Bytes{0x76});
  EXPECT_EQ(quantized(Profile::te, x, {2688.0f / amax}, GlobalScale::encode).scales, Bytes{0x76});
  EXPECT_EQ(quantized(Profile::te, x, {by_reciprocal}, GlobalScale::encode).scales, Bytes{0x77});
  // Of an amax of 0 that gives infinity; the largest float keeps NaN out of the zero blocks.
  EXPECT_EQ(quantized(Profile::te, row_of({0}), {kInf}, GlobalScale::encode).scales, Bytes{0x00});
  EXPECT_EQ(quantized(Profile::te, row_of({1}), {0.0f}, GlobalScale::encode).scales,
            quantized(Profile::te, row_of({1}), {}, GlobalScale::none).scales);
}

// The torch reference has te's numbers but where te's kernels have a rule for an amax of 0.
TEST(ReferenceNvfp4Profiles, TheTorchReferenceSaturatesTheGlobalScaleOfAnAmaxOfZero) {
  EXPECT_EQ(te_encode_scale(0.0f), 1.0f);
  EXPECT_EQ(te_ref_encode_scale(0.0f), FLT_MAX);
  EXPECT_EQ(te_ref_encode_scale(kInf), 1.0f);
  EXPECT_TRUE(te_ref_encode_scale(kNaN) != te_ref_encode_scale(kNaN));
  for (const float amax : {1e-37f, 0.5f, 1.4375f, 268288.0f}) {
    EXPECT_EQ(te_ref_encode_scale(amax), te_encode_scale(amax)) << amax;
  }
  // Under an amax of 0 that is given: one tells 2^-120 from nothing, the other does not.
  const std::vector<float> x = row_of({0x1p-120f});
  EXPECT_EQ(quantized(Profile::te, x, {0.0f}).scales, Bytes{0x00});
  EXPECT_EQ(quantized(Profile::te_ref, x, {0.0f}).scales, Bytes{0x63});  // 256 / 6 is nearest 44
  EXPECT_EQ(quantized(Profile::te_ref, row_of({0.26953125f}), {1.4375f}).scales, Bytes{0x6B});
}

TEST(ReferenceNvfp4Profiles, AGivenDecodeScaleIsTakenAsItIs) {
  const std::vector<float> x = row_of({1.0f, -3.0f});
  for (const Profile profile : {Profile::te, Profile::te_ref}) {
    EXPECT_EQ(quantized(profile, x, {0.25f}, GlobalScale::decode).codes,
              quantized(profile, x, {672.0f}).codes);
  }
  EXPECT_EQ(quantized(Profile::modelopt, x, {modelopt_scale_2(3, 448)}, GlobalScale::decode).codes,
            quantized(Profile::modelopt, x, {3.0f}).codes);
  EXPECT_EQ(quantized(Profile::torchao, x, {1.0f}, GlobalScale::decode).codes,
            quantized(Profile::torchao, x, {}, GlobalScale::none).codes);
}

TEST(ReferenceNvfp4Profiles, StaticBlocksTakeTheirAmaxFromOutside) {
  Sixteen x{};
  x[0] = 6.0f;
  EXPECT_EQ(modelopt_static_block(x, 6.0f, 6.0f, 448).scale, 0x7E);
  EXPECT_EQ(modelopt_static_block(x, 6.0f, 6.0f, 256).scale, 0x78);
  EXPECT_EQ(modelopt_static_block(x, 3.0f, 6.0f, 448).scale, 0x76);  // 224
  EXPECT_EQ(modelopt_static_block(x, 3.0f, 6.0f, 448).codes[0], 7);  // saturated
  // A block of zeros counts as 1, and saturates beside a tiny tensor amax.
  EXPECT_EQ(modelopt_static_block({}, 0.0f, 6.0f, 448).scale, 0x7E);
  EXPECT_EQ(modelopt_static_block({}, 0.0f, 6144.0f, 448).scale, 0x2E);  // 448 / 1024
  EXPECT_EQ(modelopt_static_block({}, 0.0f, 0.0f, 448).scale, 0x7E);
  EXPECT_EQ(modelopt_static_block({}, 0.0f, 0.0f, 448).codes, Block{}.codes);
}

}  // namespace
}  // namespace diecast::reference
