// The same files through a device's kernels and through the scalar ones: equal to the last byte.
#pragma once

#include <checkpoint/convert_fixture.h>
#include <checkpoint/reference_vector_kernels.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/vectors.h>
#include <ops/test_runtime.h>

#include <memory>
#include <string>

namespace diecast::testing {

// There and back with these kernels; the two files one behind the other.
inline std::string there_and_back(const TestFile& file, const ConvertKernels& kernels,
                                  const QuantizeOptions& options, std::uint64_t piece_bytes) {
  TemporaryDirectory folder;
  const std::string in = folder / "in", out = folder / "out", back = folder / "back";
  write_text(in, encode(file));
  ConvertOptions convert_options;
  convert_options.piece_bytes = piece_bytes;
  const auto reader = Checkpoint::open(in).value();
  const Plan there = plan_quantize(reader.header(), options).value();
  convert(reader, there, out, kernels, convert_options).value();
  const auto quantized = Checkpoint::open(out).value();
  const Plan home = plan_dequantize(quantized.header()).value();
  convert(quantized, home, back, kernels, convert_options).value();
  return text_of(out) + text_of(back);
}

inline void expect_files_as_scalar(const std::shared_ptr<Device>& device) {
  const ConvertKernels kernels = device_kernels(test_runtime(), device);
  for (const WeightFormat format : {WeightFormat::mxfp8, WeightFormat::mxfp4}) {
    QuantizeOptions options;
    options.format = format;
    const std::string expected = there_and_back(sample(), scalar_kernels(), options, 32 << 20);
    EXPECT_TRUE(there_and_back(sample(), kernels, options, 32 << 20) == expected) << word(format);
    EXPECT_TRUE(there_and_back(sample(), kernels, options, 160) == expected) << word(format);
  }
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    const std::string expected = there_and_back(sample(), scalar_kernels(), options, 32 << 20);
    // Whole weights, and stretches of rows.
    EXPECT_TRUE(there_and_back(sample(), kernels, options, 32 << 20) == expected) << row_scaled;
    EXPECT_TRUE(there_and_back(sample(), kernels, options, 40) == expected) << row_scaled;
  }
}

// As many cases of every file pass as through the scalar reference, and none fails.
inline void expect_vectors_pass(const std::shared_ptr<Device>& device) {
  const VectorKernels kernels = device_vector_kernels(test_runtime(), device);
  for (const char* name : {"nvfp4_te", "nvfp4_pr546", "nvfp4_modelopt", "nvfp4_torchao",
                           "mx_torchao", "fakequant_modelopt"}) {
    const std::string path = std::string(DIECAST_SOURCE_DIR "/tests/golden/") + name;
    const auto file = SafetensorsReader::open(path + ".safetensors").value();
    const VectorReport report = check_vectors(file, kernels).value();
    for (const CaseResult& one : report.cases) {
      EXPECT_NE(one.state, CaseResult::State::failed) << name << " " << one.name;
    }
    const VectorReport expected = check_vectors(file, reference_vector_kernels()).value();
    EXPECT_GT(report.count(CaseResult::State::passed), 0u);
    EXPECT_EQ(report.count(CaseResult::State::passed), expected.count(CaseResult::State::passed));
  }
}

}  // namespace diecast::testing
