// The engines' profiles, FP8 input and ModelOpt's MXFP4 through the ops, on the host.
#include <diecast/ops/reference/nvfp4.h>

#include "ops/host_matrix.h"
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class EngineProfilesOnHost : public TilesOnHost {
 protected:
  // x and an output along rows under `profile`.
  std::pair<Tensor, QuantizedTensor> matrices(HostMatrix& host, Profile profile, Format format) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(host.words.data());
    const std::int64_t bytes = host.rows * host.cols * dtype_bits(host.dtype) / 8;
    const Tensor x{memory(Octets(first, first + bytes)), host.dtype, Shape{host.rows, host.cols}};
    QuantizedTensor out = output(x, [&](QuantizedTensor& o) {
      o.type.format = format;
      o.type.profile = profile;
    });
    out.columnwise = {};
    return {x, out};
  }
};

TEST_F(EngineProfilesOnHost, TheFastOneOfFlashinferWantsAGpu) {
  HostMatrix host(DType::bf16, 1, std::vector<float>(16, 1.0f));
  const auto [x, out] = matrices(host, Profile::flashinfer_fast, Format::nvfp4);
  QuantizeNvfp4Options options;
  options.device = device_;
  options.global = GlobalScale::encode;
  const std::string message = quantize_nvfp4(*runtime_, x, out, options).error().message();
  EXPECT_NE(message.find("constraint_violated"), std::string::npos) << message;
  EXPECT_NE(message.find("(FlashInfer's fast profiles take the GPU's approximate reciprocal: a GPU "
                         "target, or flashinfer_exact and flashinfer_dsl_exact)"),
            std::string::npos)
      << message;
}

// A row's amax that is given as -0, or a subnormal, which is one: G is the largest float.
TEST_F(EngineProfilesOnHost, FlashinferTakesANegativeZeroForARowOfZeros) {
  HostMatrix host(DType::bf16, 2, std::vector<float>(32, 1.0f));
  auto [x, out] = matrices(host, Profile::flashinfer_exact, Format::nvfp4);
  out.type.row_scaled = true;
  const std::vector<float> given = {-0.0f, -1e-40f};
  out.rowwise.amax = memory(given);
  out.rowwise.amax_count = 2;
  QuantizeNvfp4Options options;
  options.device = device_;
  options.amax_given = true;
  quantize_nvfp4(*runtime_, x, out, options).value();
  reference::Nvfp4Options same;
  same.profile = Profile::flashinfer_exact;
  same.row_scaled = true;
  const auto want = reference::quantize_nvfp4(x, same, given).value();
  EXPECT_EQ(bytes_at(out.rowwise.scale, 2), want.scales);
  EXPECT_EQ(want.scales, (Octets{0x7E, 0x7E}));
  EXPECT_EQ(bytes_at(out.rowwise.data, 16), want.codes);
}

// Every byte, under an amax that is given and those that are found, of all and a row.
TEST_F(EngineProfilesOnHost, Fp8IsQuantizedAsTheNumbersItHolds) {
  HostMatrix bytes(DType::e4m3, 4, 64), floats(DType::f32, 4, 64);
  for (std::int64_t i = 0; i < 256; ++i) {
    reinterpret_cast<std::uint8_t*>(bytes.words.data())[i] = static_cast<std::uint8_t>(i);
    floats.set(i / 64, i % 64, reference::decode_e4m3(static_cast<std::uint8_t>(i)));
  }
  for (const char* way : {"given", "found", "found of each row"}) {
    QuantizeNvfp4Options options;
    options.device = device_;
    options.amax_given = way[0] == 'g';
    std::vector<Octets> made;
    for (HostMatrix* host : {&bytes, &floats}) {
      auto [x, out] = matrices(*host, Profile::te, Format::nvfp4);
      out.type.row_scaled = way == std::string_view("found of each row");
      const std::size_t entries = out.type.row_scaled ? 4 : 1;
      out.rowwise.amax = memory(std::vector<float>(entries, options.amax_given ? 448.0f : -1.0f));
      out.rowwise.amax_count = static_cast<std::int64_t>(entries);
      quantize_nvfp4(*runtime_, x, out, options).value();
      made.push_back(bytes_at(out.rowwise.data, out.rowwise.data_bytes));
      made.push_back(bytes_at(out.rowwise.scale, out.rowwise.scale_bytes));
      made.push_back(bytes_at(out.rowwise.amax, static_cast<std::int64_t>(entries) * 4));
      EXPECT_EQ(out.rowwise.amax[entries / 2], entries == 1 ? 448.0f : 1.875f) << way;
    }
    for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(made[i], made[i + 3]) << way << " " << i;
  }
}

TEST_F(EngineProfilesOnHost, ModeloptsMxfp4RoundsTiesTowardsZeroAndMakesZerosNegative) {
  std::vector<float> values(32);
  const float ties[] = {6.0f, 0.25f, 0.75f, 1.25f, -1.75f, 2.5f, 3.5f, -5.0f};
  std::copy(std::begin(ties), std::end(ties), values.begin());
  HostMatrix host(DType::bf16, 1, values);
  const auto [x, out] = matrices(host, Profile::modelopt, Format::mxfp4);
  QuantizeMxOptions options;
  options.device = device_;
  quantize_mx(*runtime_, x, out, options).value();
  EXPECT_EQ(bytes_at(out.rowwise.scale, 1), Octets{127});
  EXPECT_EQ(bytes_at(out.rowwise.data, 5), (Octets{0x07, 0x21, 0x4B, 0xE5, 0x88}));
}

}  // namespace
}  // namespace diecast
