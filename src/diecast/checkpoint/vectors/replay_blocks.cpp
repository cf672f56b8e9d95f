// Replaying what other implementations made of the MX formats and of fake quantization.
#include <diecast/base/text.h>
#include <diecast/checkpoint/vectors/replay.h>
#include <diecast/ops/reference/fp4_fake.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>

namespace diecast {
namespace {

// Rows that end within a block are not part of these files' formats. After a load of x, which says
// whether the case's shape is the tensor's.
bool skip_partial_blocks(CaseReplay& replay, std::int64_t block) {
  if (replay.cols() % block == 0) return false;
  replay.skip(cat("rows that end within a block of ", block, " are not written down"));
  return true;
}

FakeVectorInput input_of(const CaseReplay& replay, ByteSpan x) {
  FakeVectorInput input;
  input.x = x;
  input.dtype = replay.options().dtype;
  input.rows = replay.rows();
  input.cols = replay.cols();
  return input;
}

// The scales that dynamic fake quantization gives x's blocks of 16.
std::vector<float> dynamic_scales(const FakeVectorInput& in) {
  std::vector<float> scales(static_cast<std::size_t>(in.rows * in.cols / 16));
  for (std::size_t block = 0; block < scales.size(); ++block) {
    float amax = 0;
    for (std::size_t i = 16 * block; i < 16 * block + 16; ++i) {
      const float x = reference::load(in.x.data(), in.dtype, static_cast<std::int64_t>(i));
      amax = std::fmax(amax, std::fabs(x));
    }
    scales[block] = reference::fp4_dynamic_scale(amax, in.global_amax);
  }
  return scales;
}

}  // namespace

Result<void> replay_mx(CaseReplay& replay) {
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay, 32)) return {};
  MxVectorInput input;
  input.x = x;
  input.dtype = replay.options().dtype;
  input.rows = replay.rows();
  input.cols = replay.cols();
  const std::string elem = replay.options().word("elem"), mode = replay.options().word("mode");
  input.format = elem == "e2m1"   ? Format::mxfp4
                 : elem == "e5m2" ? Format::mxfp8_e5m2
                                  : Format::mxfp8_e4m3;
  input.mode = mode == "FLOOR"  ? MxMode::floor
               : mode == "CEIL" ? MxMode::ceil
               : mode == "EVEN" ? MxMode::even
                                : MxMode::rceil;
  DIECAST_TRY(const auto got, replay.kernels().quantize_mx(input));
  DIECAST_CHECK(replay.expect("scale", std::span(got.scales)));
  return replay.expect("data", std::span(got.data));
}

Result<void> replay_modelopt_scales(CaseReplay& replay, ByteSpan x,
                                    const std::vector<float>& block_amax) {
  DIECAST_TRY(const auto scales, replay.kernels().fp4_scales(block_amax));
  DIECAST_CHECK(replay.expect("fp4_scales", std::span(scales)));
  FakeVectorInput input = input_of(replay, x);
  input.block_amax = block_amax;
  DIECAST_TRY(const Bytes got, replay.kernels().fake_quantize(input));
  return replay.expect_steps("static_fake_quant", got, scales);
}

Result<void> replay_modelopt_fake(CaseReplay& replay) {
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay, 16)) return {};
  if (x.empty()) return {};
  FakeVectorInput input = input_of(replay, x);
  DIECAST_TRY(const auto global, replay.floats("global_amax", 1));
  input.global_amax = global[0];
  DIECAST_TRY(const Bytes dynamic, replay.kernels().fake_quantize(input));
  DIECAST_CHECK(replay.expect_steps("dynamic", dynamic, dynamic_scales(input)));
  DIECAST_TRY(input.block_amax, replay.floats("block_amax", input.rows * input.cols / 16));
  input.quantize_block_scales = false;
  DIECAST_TRY(const Bytes fixed, replay.kernels().fake_quantize(input));
  return replay.expect("static_unquantized_scale", fixed);
}

}  // namespace diecast
