// NVFP4 with ModelOpt's names whose scales lie in tiles, or whose codes have the other order: read
// as the user says, refused where the shape tells it, and what is assumed is said.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>

namespace diecast::testing {
namespace {

constexpr std::uint64_t kRows = 200, kCols = 160, kBlocks = kCols / 16;
const std::string kUp = "model.layers.0.mlp.up_proj";

// Where the scale of (row, block) lies in tiles of 128x4, and of 8x4.
std::size_t in_tiles(std::uint64_t row, std::uint64_t block, std::uint64_t tile) {
  const std::uint64_t across = (kBlocks + 3) / 4;
  const std::uint64_t begin = (row / tile * across + block / 4) * tile * 4, inside = row % tile;
  return static_cast<std::size_t>(
      begin + (tile == 128 ? inside % 32 * 16 + inside / 32 * 4 : inside * 4) + block % 4);
}

class Nvfp4LayoutTest : public Convert {
 protected:
  Nvfp4LayoutTest() {
    TestFile model;
    model.metadata = {{"format", "pt"}};
    model.tensors["model.embed_tokens.weight"] = random_tensor("BF16", {8, 32}, 1);
    model.tensors[kUp + ".weight"] = random_tensor("BF16", {kRows, kCols}, 2);
    foreign_ = quantized(model, {});
    foreign_.metadata = {{"format", "pt"}};
  }
  // The file with its scales in tiles of so many rows.
  TestFile tiled(std::uint64_t tile) const {
    TestFile out = foreign_;
    TestTensor& scales = out.tensors.at(kUp + ".weight_scale");
    const std::uint64_t rows = (kRows + tile - 1) / tile * tile, blocks = (kBlocks + 3) / 4 * 4;
    std::string bytes(rows * blocks, '\0');
    for (std::uint64_t r = 0; r < kRows; ++r)
      for (std::uint64_t b = 0; b < kBlocks; ++b)
        bytes[in_tiles(r, b, tile)] = scales.bytes[r * kBlocks + b];
    scales = {"F8_E4M3", {rows, blocks}, bytes};
    return out;
  }
  TestFile swapped() const {
    TestFile out = foreign_;
    for (char& pair : out.tensors.at(kUp + ".weight").bytes)
      pair = static_cast<char>((pair & 15) << 4 | (pair >> 4 & 15));
    return out;
  }
  Result<Plan> plan(const TestFile& file, std::optional<Nvfp4Layout> layout = {}) {
    write_text(in_, encode(file));
    return plan_dequantize(Checkpoint::open(in_).value(), DType::f32, layout);
  }
  TestFile foreign_;
};

TEST_F(Nvfp4LayoutTest, IsReadAsTheUserSays) {
  const TestFile want = converted(foreign_, plan(foreign_).value());
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{128}}) {
    const auto expect = [&](const TestFile& file, const Nvfp4Layout& layout) {
      const auto planned = plan(file, layout);
      ASSERT_TRUE(planned) << planned.error().message();
      EXPECT_EQ(converted(file, *planned, piece).tensors, want.tensors) << piece;
    };
    expect(tiled(128), {ScaleLayout::s128x4, false});
    expect(tiled(8), {ScaleLayout::s8x4, false});
    expect(swapped(), {ScaleLayout::linear, true});
    TestFile both = tiled(128);
    both.tensors.at(kUp + ".weight") = swapped().tensors.at(kUp + ".weight");
    expect(both, {ScaleLayout::s128x4, true});
    both.tensors["a.comfy_quant"] = {"U8", {2}, "{}"};
    const auto marked = plan(both, Nvfp4Layout{ScaleLayout::s128x4, true});
    EXPECT_TRUE(marked) << "a marker says that it may be so, and the user that it is";
  }
  EXPECT_NE(converted(swapped(), plan(swapped()).value()).tensors, want.tensors);
}

// Codes and block scales go where ModelOpt or compressed-tensors has them, nothing is rounded.
TEST_F(Nvfp4LayoutTest, IsConverted) {
  QuantizeOptions plain;
  plain.config = EngineConfig::compressed_tensors;
  const TestFile packed = quantized(foreign_, plain);
  TestFile both = tiled(128);
  both.tensors.at(kUp + ".weight") = swapped().tensors.at(kUp + ".weight");
  both.tensors["a.comfy_quant"] = {"U8", {2}, "{}"};
  both.metadata["_quantization_metadata"] = "{}";
  const std::pair<TestFile, Nvfp4Layout> all[] = {{tiled(128), {ScaleLayout::s128x4, false}},
                                                  {tiled(8), {ScaleLayout::s8x4, false}},
                                                  {swapped(), {ScaleLayout::linear, true}},
                                                  {both, {ScaleLayout::s128x4, true}}};
  for (const auto& [file, layout] : all) {
    for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{128}}) {
      ConvertOptions pieces;
      pieces.piece_bytes = piece;
      QuantizeOptions options;
      options.layout = layout;
      const TestFile got = quantized(file, options, pieces);
      EXPECT_EQ(got.tensors, foreign_.tensors);
      EXPECT_EQ(got.metadata, foreign_.metadata);
      options.config = EngineConfig::compressed_tensors;
      EXPECT_EQ(quantized(file, options, pieces).tensors, packed.tensors);
    }
  }
}

TEST_F(Nvfp4LayoutTest, ThatIsLeftOutBecomesBf16) {
  QuantizeOptions options;
  options.layout = {ScaleLayout::s128x4, false};
  options.exclude = {"*.up_proj.*"};
  options.force = true;  // nothing else is there
  write_text(in_, encode(foreign_));
  const Plan back = plan_dequantize(Checkpoint::open(in_).value(), DType::bf16).value();
  const TestFile want = converted(foreign_, back);
  EXPECT_EQ(quantized(tiled(128), options).tensors, want.tensors);
}

TEST_F(Nvfp4LayoutTest, ThatNoMatrixHasIsRefused) {
  QuantizeOptions options;
  options.layout = {ScaleLayout::s128x4, false};
  const auto code_of = [&](const TestFile& file) {
    const auto plan = plan_quantize(header(file), options);
    return plan ? ErrorCode::internal : plan.error().code;
  };
  EXPECT_EQ(code_of(foreign_), ErrorCode::not_supported);
  EXPECT_EQ(code_of(tiled(8)), ErrorCode::not_supported);
  TestFile plain;
  plain.tensors[kUp + ".weight"] = random_tensor("BF16", {32, 32}, 1);
  EXPECT_EQ(code_of(plain), ErrorCode::not_supported);
  TestFile mixed = tiled(128);  // of which a part lies otherwise
  for (const char* part : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"})
    mixed.tensors[cat("model.layers.0.mlp.down_proj", part)] = foreign_.tensors.at(kUp + part);
  EXPECT_EQ(code_of(mixed), ErrorCode::not_supported);
  TestFile ours = tiled(128);
  ours.metadata[std::string(kFormatKey)] = "nvfp4";
  EXPECT_EQ(code_of(ours), ErrorCode::invalid_argument);
}

TEST_F(Nvfp4LayoutTest, OfAShapeThatTellsItIsRefusedByName) {
  const auto told = plan(tiled(128));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::not_supported);
  EXPECT_NE(told.error().message().find("--scale-layout 128x4"), std::string::npos);
  const auto wrong = plan(foreign_, Nvfp4Layout{ScaleLayout::s128x4, false});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::file_corrupt);
}

TEST_F(Nvfp4LayoutTest, OfOursOrOfOtherNamesIsNotTheUsersToSay) {
  TestFile ours = decode(text_of(out_));
  const auto known = plan(ours, Nvfp4Layout{});
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, ErrorCode::invalid_argument);
  TestFile packed = foreign_;
  packed.tensors[kUp + ".weight_packed"] = packed.tensors.at(kUp + ".weight");
  packed.tensors.erase(kUp + ".weight");
  packed.tensors[kUp + ".weight_global_scale"] = floats({1}, {2.0f});
  const auto other = plan(packed, Nvfp4Layout{ScaleLayout::linear, true});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::not_supported);
}

TEST_F(Nvfp4LayoutTest, ThatIsAssumedIsSaid) {
  const auto notes = [&](const std::string& config) {
    const std::string model = folder_ / "model";
    std::filesystem::create_directories(model);
    write_text(model + "/model.safetensors", encode(foreign_));
    write_text(model + "/config.json", config);
    return plan_dequantize(Checkpoint::open(model).value(), DType::f32)->notes.size();
  };
  EXPECT_EQ(notes("{}"), 1u);
  EXPECT_EQ(
      notes(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})"), 1u);
  EXPECT_EQ(notes(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4",)"
                  R"( "producer": {"name": "modelopt"}}})"),
            0u);
  const Plan plain = plan(foreign_).value();
  ASSERT_EQ(plain.notes.size(), 1u);
  EXPECT_NE(plain.notes[0].find("read row by row"), std::string::npos);
  EXPECT_TRUE(plan(foreign_, Nvfp4Layout{})->notes.empty());
}

}  // namespace
}  // namespace diecast::testing
