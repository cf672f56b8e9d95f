// A checkpoint of a test on its way through quantize and dequantize with the scalar kernels.
#pragma once

#include <checkpoint/checkpoint_files.h>
#include <checkpoint/scalar_kernels.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace diecast::testing {

// sample() has experts in one tensor, which are quantized only if they are named.
inline QuantizeOptions sample_options() {
  QuantizeOptions options;
  options.include = {"*.experts.weight", "*.e.w?.weight"};
  return options;
}

inline Result<ConvertReport> quantize_with_scalars(
    const std::string& input, const std::string& output,
    const QuantizeOptions& options = sample_options(), const ConvertOptions& convert_options = {},
    FileSystem& files = system_files()) {
  DIECAST_TRY(const Checkpoint checkpoint, Checkpoint::open(input, false, files));
  DIECAST_TRY(const Plan plan, plan_quantize(checkpoint, options, files));
  return convert(checkpoint, plan, output, scalar_kernels(), convert_options, files);
}

inline Result<ConvertReport> dequantize_with_scalars(const std::string& input,
                                                     const std::string& output,
                                                     std::optional<DType> to = {},
                                                     const ConvertOptions& options = {}) {
  DIECAST_TRY(const Checkpoint checkpoint, Checkpoint::open(input));
  DIECAST_TRY(const Plan plan, plan_dequantize(checkpoint, to));
  return convert(checkpoint, plan, output, scalar_kernels(), options);
}

class Convert : public ::testing::Test {
 protected:
  Result<ConvertReport> quantize(const TestFile& file,
                                 const QuantizeOptions& options = sample_options(),
                                 ConvertOptions convert_options = {},
                                 FileSystem& files = system_files()) {
    write_text(in_, encode(file));
    convert_options.overwrite = true;
    return quantize_with_scalars(in_, out_, options, convert_options, files);
  }
  Result<ConvertReport> dequantize(std::optional<DType> to = {}, ConvertOptions options = {}) {
    options.overwrite = true;
    return dequantize_with_scalars(out_, back_, to, options);
  }
  TestFile quantized(const TestFile& file, const QuantizeOptions& options = sample_options(),
                     const ConvertOptions& convert_options = {}) {
    const auto report = quantize(file, options, convert_options);
    EXPECT_TRUE(report) << report.error().message();
    return report ? decode(text_of(out_)) : TestFile{};
  }

  // What `plan` makes of the file alone: what a config says is given.
  TestFile converted(const TestFile& file, const Plan& plan, std::uint64_t piece = 32 << 20) {
    write_text(in_, encode(file));
    ConvertOptions options;
    options.piece_bytes = piece;
    options.overwrite = true;
    const auto report =
        convert(Checkpoint::open(in_).value(), plan, out_, scalar_kernels(), options);
    EXPECT_TRUE(report) << report.error().message();
    if (report) report_ = *report;
    return decode(text_of(out_));
  }
  CheckpointHeader header(const TestFile& file) {
    write_text(in_, encode(file));
    return Checkpoint::open(in_)->header();
  }

  ConvertReport report_;  // of converted()
  TemporaryDirectory folder_;
  std::string in_ = folder_ / "in.safetensors", out_ = folder_ / "out.safetensors",
              back_ = folder_ / "back.safetensors";
};

inline std::string scalar_bytes(float value) { return {reinterpret_cast<const char*>(&value), 4}; }

inline TestFile sample() {
  TestFile file;
  file.metadata = {{"format", "pt"}, {"note", "\xC3\xA9 \" \n"}};
  file.tensors = {{"model.embed_tokens.weight", random_tensor("BF16", {24, 32}, 1)},
                  {"model.layers.0.mlp.gate_proj.weight", random_tensor("BF16", {48, 32}, 2)},
                  {"model.layers.0.mlp.up_proj.weight", random_tensor("BF16", {48, 32}, 3)},
                  {"model.layers.0.mlp.down_proj.weight", random_tensor("F16", {32, 48}, 4)},
                  {"model.layers.0.experts.weight", random_tensor("F32", {3, 16, 32}, 5)},
                  {"model.norm.weight", random_tensor("F32", {32}, 6)},
                  {"l.0.odd.weight", random_tensor("BF16", {4, 20}, 7)},
                  {"l.0.empty.weight", random_tensor("BF16", {0, 16}, 8)},
                  {"position_ids", {"I64", {2}, std::string(16, '\x07')}}};
  return file;
}

}  // namespace diecast::testing
