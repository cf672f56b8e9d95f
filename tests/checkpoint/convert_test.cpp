// Whole conversions of small checkpoints, read back by the test's own reader.
#include <checkpoint/convert_fixture.h>

#include <filesystem>
#include <set>

namespace diecast::testing {
namespace {

TEST(DecodeScale, IsOneOverTheGlobalScaleWithItsEdges) {
  const auto bits = [](float amax) {
    const float scale = decode_scale({}, amax);
    std::uint32_t word;
    std::memcpy(&word, &scale, 4);
    return word;
  };
  EXPECT_EQ(bits(3.0f), 0x3A924925u);
  EXPECT_EQ(bits(1.0f), 0x39C30C31u);
  EXPECT_EQ(bits(2688.0f), 0x3F800000u);
  EXPECT_EQ(bits(0.0f), 0x3F800000u);
  EXPECT_EQ(bits(1e-37f), 0x00200000u) << "S is FLT_MAX";
  EXPECT_EQ(bits(std::numeric_limits<float>::infinity()), 0x3F800000u);
}

// A block with every tie and both zeros, under S = 1.
TEST_F(Convert, UnitBlockHasTheCodesOfTheTable) {
  TestFile file;
  std::vector<float> row = {0,     -0.0f, .25f,  -.5f, .75f, 1,  -1.25f, 1.5f,
                            1.75f, 2,     -2.5f, 3,    3.5f, -4, 5,      6};
  std::vector<float> largest(16, 0.0f);
  largest[0] = 2688;
  row.insert(row.end(), largest.begin(), largest.end());
  file.tensors["l.0.a.weight"] = floats({2, 16}, row);
  const TestFile out = quantized(file);
  EXPECT_EQ(out.tensors.at("l.0.a.weight").bytes.substr(0, 8), "\x80\x90\x22\x3A\x44\x5C\xE6\x76");
  EXPECT_EQ(out.tensors.at("l.0.a.weight_scale").bytes, "\x38\x7E");
  EXPECT_EQ(out.tensors.at("l.0.a.weight_scale_2").bytes, scalar_bytes(1.0f));
}

// Gate has amax 1, up has 3.
TEST_F(Convert, GateAndUpAreWrittenUnderOneScale) {
  std::vector<float> gate(32, 0.25f), up(48, -0.5f);
  gate[3] = 1;
  up[40] = -3;
  TestFile file;
  file.tensors = {{"l.0.m.gate_proj.weight", floats({2, 16}, gate)},
                  {"l.0.m.up_proj.weight", floats({3, 16}, up)}};
  const TestFile pair = quantized(file);
  const float shared = floats_of(pair.tensors.at("l.0.m.gate_proj.weight_scale_2"))[0];
  EXPECT_EQ(shared, 1.0f / 896.0f);
  EXPECT_EQ(pair.tensors.at("l.0.m.up_proj.weight_scale_2"),
            pair.tensors.at("l.0.m.gate_proj.weight_scale_2"));
  file.tensors["l.1.m.gate_proj.weight"] = file.tensors.at("l.0.m.gate_proj.weight");
  file.tensors.erase("l.0.m.gate_proj.weight");
  const TestFile apart = quantized(file);
  EXPECT_EQ(floats_of(apart.tensors.at("l.1.m.gate_proj.weight_scale_2"))[0], 1.0f / 2688.0f);
  EXPECT_NE(apart.tensors.at("l.1.m.gate_proj.weight_scale").bytes,
            pair.tensors.at("l.0.m.gate_proj.weight_scale").bytes);
}

TEST_F(Convert, ExpertsHaveAGlobalScaleEachAndGateAndUpShareItExpertByExpert) {
  std::vector<float> gate(2 * 16, 0.5f), up(2 * 32, 0.5f);
  gate[5] = 7;       // expert 0
  up[32 + 3] = -14;  // expert 1
  TestFile file;
  file.tensors = {{"l.0.e.w1.weight", floats({2, 1, 16}, gate)},
                  {"l.0.e.w3.weight", floats({2, 2, 16}, up)}};
  const TestFile out = quantized(file);
  const std::vector<float> expected = {1.0f / 384.0f, 1.0f / 192.0f};
  for (const std::string name : {"l.0.e.w1", "l.0.e.w3"}) {
    EXPECT_EQ(out.tensors.at(name + ".weight_scale_2").shape, std::vector<std::uint64_t>{2});
    EXPECT_EQ(floats_of(out.tensors.at(name + ".weight_scale_2")), expected);
    EXPECT_EQ(floats_of(out.tensors.at(name + ".input_scale")), std::vector<float>(2, 1.0f));
  }
}

TEST_F(Convert, RowScaledWeightsHaveAScaleARow) {
  std::vector<float> rows(48, 0.0f);
  rows[0] = 1, rows[1] = 0.5f, rows[16] = 4;
  rows[32] = 0.5f, rows[33] = 0.25f;
  TestFile file;
  file.tensors["l.0.a.weight"] = floats({3, 16}, rows);
  QuantizeOptions options = sample_options();
  options.row_scaled = true;
  const TestFile out = quantized(file, options);
  EXPECT_EQ(floats_of(out.tensors.at("l.0.a.weight_scale_2")),
            (std::vector<float>{1.0f / 2688.0f, 1.0f / 672.0f, 1.0f / 5376.0f}));
  EXPECT_EQ(out.tensors.at("l.0.a.weight_scale").bytes, "\x7E\x7E\x7E");
  EXPECT_EQ(out.tensors.at("l.0.a.weight").bytes.substr(16, 1), "\x57");
  EXPECT_EQ(out.tensors.at("l.0.a.input_scale").bytes, scalar_bytes(1.0f));
}

TEST_F(Convert, WR12_OutputIsWhatAnIndependentReaderExpects) {
  const TestFile file = sample();
  const TestFile out = quantized(file);
  EXPECT_EQ(out.tensors.size(), file.tensors.size() + 3 * 4);
  for (const auto& [name, tensor] : out.tensors) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : tensor.shape) elements *= dim;
    const std::map<std::string, std::uint64_t> widths = {{"U8", 1},  {"F8_E4M3", 1}, {"BF16", 2},
                                                         {"F16", 2}, {"F32", 4},     {"I64", 8}};
    EXPECT_EQ(tensor.bytes.size(), elements * widths.at(tensor.dtype)) << name;
  }
  const TestTensor& down = file.tensors.at("model.layers.0.mlp.down_proj.weight");
  const ByteSpan x = as_bytes(down.bytes);
  std::string codes(32 * 24, '\0'), scales(32 * 3, '\0');
  const float amax = amax_of(x, DType::f16, 0, 32 * 48);
  quantize_row(x, DType::f16, 0, 32 * 48, amax, std::as_writable_bytes(std::span(codes)),
               std::as_writable_bytes(std::span(scales)));
  EXPECT_EQ(out.tensors.at("model.layers.0.mlp.down_proj.weight"),
            (TestTensor{"U8", {32, 24}, codes}));
  EXPECT_EQ(out.tensors.at("model.layers.0.mlp.down_proj.weight_scale"),
            (TestTensor{"F8_E4M3", {32, 3}, scales}));
  EXPECT_EQ(out.tensors.at("model.layers.0.mlp.down_proj.weight_scale_2"),
            (TestTensor{"F32", {}, scalar_bytes(decode_scale({}, amax))}));
}

TEST_F(Convert, NeedsNothingBesideTheFileNorAnOrderInIt) {
  const TestFile file = sample();
  quantized(file);
  const std::string expected = text_of(out_);
  write_text(in_, encode(file, true));
  ASSERT_NE(text_of(in_), encode(file));
  std::filesystem::remove(out_);
  const auto reader = Checkpoint::open(in_).value();
  convert(reader, plan_quantize(reader.header(), sample_options()).value(), out_, scalar_kernels())
      .value();
  EXPECT_EQ(text_of(out_), expected);
  const std::filesystem::path folder = std::filesystem::path(in_).parent_path();
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(Convert, WR13_WR14_EverythingElseIsCopiedToTheBitAndMetadataKept) {
  const TestFile file = sample();
  const TestFile out = quantized(file);
  for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "l.0.odd.weight",
                           "l.0.empty.weight", "position_ids"}) {
    EXPECT_EQ(out.tensors.at(name), file.tensors.at(name)) << name;
  }
  for (const auto& [key, text] : file.metadata) EXPECT_EQ(out.metadata.at(key), text);
  EXPECT_EQ(out.metadata.size(), file.metadata.size() + 3);
}

// As transformers wants it of a file with metadata; one without it takes for PyTorch's.
TEST_F(Convert, FileWithoutAFormatIsSaidToBePyTorchs) {
  TestFile file = sample();
  for (const auto& [given, wanted] :
       std::map<std::string, std::string>{{"", "pt"}, {"mlx", "mlx"}}) {
    file.metadata.clear();
    if (!given.empty()) file.metadata["format"] = given;
    EXPECT_EQ(quantized(file).metadata.at("format"), wanted);
  }
}

TEST_F(Convert, DequantizedFileHasTheOldNamesTypesAndNearlyTheOldValues) {
  const TestFile file = sample();
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    ASSERT_TRUE(quantize(file, options));
    const auto report = dequantize();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->dequantized, 4u);
    EXPECT_EQ(report->copied, 5u);
    const TestFile back = decode(text_of(back_));
    EXPECT_EQ(back.metadata, file.metadata);
    ASSERT_EQ(back.tensors.size(), file.tensors.size());
    for (const auto& [name, tensor] : file.tensors) {
      const TestTensor& now = back.tensors.at(name);
      EXPECT_EQ(now.dtype, tensor.dtype);
      EXPECT_EQ(now.shape, tensor.shape);
      const DType type = tensor.dtype == "F32"   ? DType::f32
                         : tensor.dtype == "F16" ? DType::f16
                                                 : DType::bf16;
      if (tensor.dtype == "I64") continue;
      double signal = 0, noise = 0;
      for (std::size_t i = 0; i < tensor.bytes.size() / (type == DType::f32 ? 4 : 2); ++i) {
        const double a = element(as_bytes(tensor.bytes), type, i),
                     b = element(as_bytes(now.bytes), type, i);
        signal += a * a;
        noise += (a - b) * (a - b);
      }
      EXPECT_LE(noise, signal / 63) << name << ": at least 18 dB";
    }
  }
}

TEST_F(Convert, QuantizingTheDequantizedFileAgainChangesNothing) {
  const TestFile first = quantized(sample());
  ASSERT_TRUE(dequantize(DType::f32));
  const TestFile back = decode(text_of(back_));
  const TestFile again = quantized(back);
  for (const auto& [name, tensor] : first.tensors) {
    if (tensor.dtype != "U8") continue;
    EXPECT_EQ(again.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

TEST_F(Convert, DequantizeTakesTheDecodeFormAndTheTypeAsked) {
  TestFile file;
  file.metadata = {};
  file.tensors = {
      {"l.0.a.weight", {"U8", {1, 8}, std::string("\x21\xF7", 2) + std::string(6, '\0')}},
      {"l.0.a.weight_scale", {"F8_E4M3", {1, 1}, "\x3A"}},  // 1.25
      {"l.0.a.weight_scale_2", floats({}, {0.1f})}};
  write_text(out_, encode(file));
  ASSERT_TRUE(dequantize(DType::f32));
  std::vector<float> expected(16, 0.0f);
  expected[0] = (0.5f * 1.25f) * 0.1f, expected[1] = (1.0f * 1.25f) * 0.1f;
  expected[2] = (6.0f * 1.25f) * 0.1f, expected[3] = (-6.0f * 1.25f) * 0.1f;
  EXPECT_EQ(floats_of(decode(text_of(back_)).tensors.at("l.0.a.weight")), expected);
}

TEST_F(Convert, PieceSizeChangesNothing) {
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    ASSERT_TRUE(quantize(sample(), options));
    const std::string whole = text_of(out_);
    ASSERT_TRUE(dequantize());
    const std::string back = text_of(back_);
    // One block; a stretch of a row; a row and a bit; several rows.
    for (const std::uint64_t bytes : {1, 100, 130, 1000}) {
      ConvertOptions pieces;
      pieces.piece_bytes = bytes;
      ASSERT_TRUE(quantize(sample(), options, pieces));
      EXPECT_EQ(text_of(out_), whole) << bytes << " " << row_scaled;
      ASSERT_TRUE(dequantize({}, pieces));
      EXPECT_EQ(text_of(back_), back) << bytes << " " << row_scaled;
    }
  }
}

TEST_F(Convert, KernelsNeverSeeMoreThanAPiece) {
  write_text(in_, encode(sample()));
  const auto reader = Checkpoint::open(in_);
  ConvertKernels kernels = scalar_kernels();
  std::size_t largest = 0;
  kernels.quantize = [&](ByteSpan x, DType, std::int64_t rows, std::int64_t cols, float,
                         std::span<std::byte> codes, std::span<std::byte> scales) -> Result<void> {
    largest = std::max(largest, x.size());
    EXPECT_EQ(codes.size(), static_cast<std::size_t>(rows * cols / 2));
    EXPECT_EQ(scales.size(), static_cast<std::size_t>(rows * cols / 16));
    return {};
  };
  ConvertOptions options;
  options.piece_bytes = 256;
  ASSERT_TRUE(convert(*reader, plan_quantize(reader->header(), sample_options()).value(), out_,
                      kernels, options));
  EXPECT_LE(largest, 256u);
  EXPECT_GE(largest, 128u);
}

TEST_F(Convert, ProgressEndsAtTheTotal) {
  ConvertOptions options;
  options.piece_bytes = 512;
  std::vector<ConvertProgress> seen;
  std::set<std::string> names;
  options.progress = [&](const ConvertProgress& progress) {
    seen.push_back(progress);
    names.insert(std::string(progress.name));
  };
  ASSERT_TRUE(quantize(sample(), sample_options(), options));
  ASSERT_FALSE(seen.empty());
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i].done, seen[i - 1].done);
  EXPECT_EQ(seen.back().done, seen.back().total);
  EXPECT_EQ(names.count("position_ids"), 1u);
}

TEST_F(Convert, WhoMayNotReadTheInputMayNotReadTheOutput) {
  const auto mode_of = [](const std::string& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
  };
  ASSERT_TRUE(quantize(sample()));
  const unsigned usual = mode_of(out_);
  for (const unsigned given : {0600u, 0440u}) {
    std::filesystem::remove(out_);
    std::filesystem::permissions(in_, std::filesystem::perms{given});
    ASSERT_TRUE(quantize_with_scalars(in_, out_));
    EXPECT_EQ(mode_of(out_), usual & (given | 0600u));
  }
}

TEST_F(Convert, ReportCountsTensorsAndBytes) {
  const auto report = quantize(sample());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->copied, 5u);
  EXPECT_EQ(report->quantized, 4u);
  EXPECT_EQ(report->dequantized, 0u);
  EXPECT_EQ(report->input_bytes, text_of(in_).size());
  EXPECT_EQ(report->output_bytes, text_of(out_).size());
  EXPECT_TRUE(report->nonfinite.empty());
}

}  // namespace
}  // namespace diecast::testing
