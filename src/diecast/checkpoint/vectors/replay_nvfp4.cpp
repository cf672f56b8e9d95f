// Replaying what other implementations quantized to NVFP4.
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/vectors/replay.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>

namespace diecast {
namespace {

// The case's x as the kernels take it; `x` must outlive it.
Nvfp4VectorInput input_of(const CaseReplay& replay, ByteSpan x, Profile profile) {
  Nvfp4VectorInput input;
  input.x = x;
  input.dtype = replay.options().dtype;
  input.rows = replay.rows();
  input.cols = replay.cols();
  input.type.profile = profile;
  return input;
}

// Codes and block scales against the tensors `prefix`data and `prefix`scale.
Result<void> expect_blocks(CaseReplay& replay, const std::string& prefix,
                           const Nvfp4VectorOutput& got) {
  DIECAST_CHECK(replay.expect(prefix + "scale", std::span(got.scales)));
  return replay.expect(prefix + "data", std::span(got.codes));
}

Result<void> expect_blocks_and_scale_2(CaseReplay& replay, const std::string& prefix,
                                       const Nvfp4VectorInput& input) {
  DIECAST_TRY(const auto got, replay.kernels().quantize_nvfp4(input));
  const float scale_2[] = {
      decode_scale({input.type.profile, input.four_over_six, input.type.e4m3_bound}, got.amax[0])};
  DIECAST_CHECK(replay.expect(prefix + "scale_2", std::span(scale_2)));
  return expect_blocks(replay, prefix, got);
}

// Blocks are of 16: a file with other rows would have sizes that nobody has written down. After a
// load of x, which says whether the case's shape is the tensor's.
bool skip_partial_blocks(CaseReplay& replay) {
  if (replay.cols() % 16 == 0) return false;
  replay.skip("rows that end within a block are not part of a checkpoint");
  return true;
}

// Turns the sign over that the codes of x's -0 have, along its rows or its columns.
void turn_signs_of_zeros(const Nvfp4VectorInput& in, bool of_columns,
                         std::vector<std::uint8_t>& codes) {
  const std::int64_t pitch = (of_columns ? in.rows + 15 : in.cols + 15) / 16 * 16;
  for (std::int64_t i = 0; i < in.rows * in.cols; ++i) {
    const float value = reference::load(in.x.data(), in.dtype, i);
    if (value != 0.0f || !std::signbit(value)) continue;
    const std::int64_t row = i / in.cols, col = i % in.cols;
    const std::int64_t at = of_columns ? col * pitch + row : row * pitch + col;
    codes[static_cast<std::size_t>(at / 2)] ^= at % 2 == 0 ? 0x08 : 0x80;
  }
}

Result<void> replay_te_as(CaseReplay& replay, Profile profile) {
  const VectorCase& one = replay.options();
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay)) return {};
  Nvfp4VectorInput input = input_of(replay, x, profile);
  input.type.row_scaled = one.flag("row_scaled");
  input.type.square = one.word("tile") == "[16,16]";
  input.columnwise = one.flag("columnwise");
  if (one.flag("four_over_six")) {
    input.four_over_six = one.word("err_mode") == "MSE" ? FourOverSix::mse : FourOverSix::mae;
    input.type.e4m3_bound = one.word("e4m3_max") == "256" ? 256 : 448;
  }
  DIECAST_TRY(auto got, replay.kernels().quantize_nvfp4(input));
  if (profile == Profile::te_ref) {
    turn_signs_of_zeros(input, false, got.codes);
    if (input.columnwise) turn_signs_of_zeros(input, true, got.codes_t);
  }
  DIECAST_CHECK(replay.expect("amax", std::span(got.amax)));
  DIECAST_CHECK(expect_blocks(replay, "", got));
  if (!input.columnwise) return {};
  DIECAST_CHECK(replay.expect("amax_t", std::span(got.amax_t)));
  DIECAST_CHECK(replay.expect("scale_t", std::span(got.scales_t)));
  return replay.expect("data_t", std::span(got.codes_t));
}

}  // namespace

Result<void> replay_te(CaseReplay& replay) { return replay_te_as(replay, Profile::te); }
Result<void> replay_te_ref(CaseReplay& replay) { return replay_te_as(replay, Profile::te_ref); }

// Every matrix of a rank 3 tensor (an expert) has a global scale of its own.
Result<void> replay_pr546(CaseReplay& replay) {
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay)) return {};
  const VectorCase& one = replay.options();
  const std::int64_t matrices = one.shape.size() == 3 ? static_cast<std::int64_t>(one.shape[0]) : 1;
  Nvfp4VectorInput input = input_of(replay, x, Profile::pr546);
  if (matrices == 0 || input.rows == 0) return {};
  input.rows /= matrices;
  const std::size_t bytes = x.size() / static_cast<std::size_t>(matrices);
  std::vector<float> given, scale_2;
  if (one.flag("global_amax_given")) {
    DIECAST_TRY(given, replay.floats("global_amax", matrices));
  }
  Nvfp4VectorOutput all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrices); ++i) {
    input.x = ByteSpan(x).subspan(i * bytes, bytes);
    if (!given.empty()) input.given = {given[i]};
    DIECAST_TRY(const auto got, replay.kernels().quantize_nvfp4(input));
    all.codes.insert(all.codes.end(), got.codes.begin(), got.codes.end());
    all.scales.insert(all.scales.end(), got.scales.begin(), got.scales.end());
    scale_2.push_back(decode_scale({Profile::pr546}, got.amax[0]));
  }
  DIECAST_CHECK(replay.expect("scale_2", std::span(scale_2)));
  return expect_blocks(replay, "", all);
}

// Dynamic; and static, with block amaxes that are given, under both bounds.
Result<void> replay_modelopt(CaseReplay& replay) {
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay)) return {};
  Nvfp4VectorInput input = input_of(replay, x, Profile::modelopt);
  DIECAST_CHECK(expect_blocks_and_scale_2(replay, "", input));
  DIECAST_TRY(input.block_amax, replay.floats("block_amax", input.rows * input.cols / 16));
  if (input.block_amax.empty()) return {};
  DIECAST_CHECK(replay_modelopt_scales(replay, x, input.block_amax));
  input.given = {*std::max_element(input.block_amax.begin(), input.block_amax.end())};
  DIECAST_CHECK(expect_blocks_and_scale_2(replay, "static448_", input));
  input.type.e4m3_bound = 256;
  return expect_blocks_and_scale_2(replay, "static256_", input);
}

// The per-tensor scale is an input.
Result<void> replay_torchao(CaseReplay& replay) {
  DIECAST_TRY(const Bytes x, replay.x());
  if (skip_partial_blocks(replay)) return {};
  Nvfp4VectorInput input = input_of(replay, x, Profile::torchao);
  input.global = GlobalScale::none;
  if (replay.options().flag("per_tensor")) {
    input.global = GlobalScale::decode;
    DIECAST_TRY(input.given, replay.floats("per_tensor_scale", 1));
  }
  DIECAST_TRY(const auto got, replay.kernels().quantize_nvfp4(input));
  return expect_blocks(replay, "", got);
}

}  // namespace diecast
