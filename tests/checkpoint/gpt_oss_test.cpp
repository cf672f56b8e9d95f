// Experts that stay in one tensor: MXFP4 as gpt-oss has it becomes numbers, or NVFP4 without
// rounding; and NVFP4 as ModelOpt keeps all experts together.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantization_config.h>

#include <algorithm>
#include <cmath>

namespace diecast::testing {
namespace {

const std::string kBank = "model.layers.0.mlp.experts.";
constexpr std::uint64_t kExperts = 2, kHidden = 64, kInner = 96;

struct Role {
  std::string name;
  std::uint64_t rows, cols;
};
const Role kRoles[] = {{"gate_up_proj", 2 * kInner, kHidden}, {"down_proj", kHidden, kInner}};

float e2m1(unsigned code) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -kValues[code & 7] : kValues[code & 7];
}

// Element [e][r][c] of rows at [e][c][r].
std::string turned(const std::string& bytes, std::uint64_t rows, std::uint64_t cols,
                   std::uint64_t width) {
  std::string out(bytes.size(), '\0');
  for (std::uint64_t i = 0; i * width < bytes.size(); ++i) {
    const std::uint64_t e = i / (rows * cols), r = i / cols % rows, c = i % cols;
    out.replace((e * rows * cols + c * rows + r) * width, width, bytes, i * width, width);
  }
  return out;
}

class GptOss : public Convert {
 protected:
  // Exponents from -21 to -4, which is as far apart as E4M3's scales are.
  TestFile mxfp4() {
    TestFile file;
    file.metadata = {{"format", "pt"}};
    std::uint64_t state = 1;
    for (const Role& role : kRoles) {
      std::string codes, scales;
      for (std::uint64_t i = 0; i < kExperts * role.rows * role.cols / 2; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        codes.push_back(static_cast<char>(state >> 56));
        if (i % 16 == 0) scales.push_back(static_cast<char>(127 - 21 + (state >> 40) % 18));
      }
      const std::uint64_t groups = role.cols / 32;
      file.tensors[kBank + role.name + "_blocks"] = {
          "U8", {kExperts, role.rows, groups, 16}, codes};
      file.tensors[kBank + role.name + "_scales"] = {"U8", {kExperts, role.rows, groups}, scales};
      file.tensors[kBank + role.name + "_bias"] =
          random_tensor("BF16", {kExperts, role.rows}, role.rows);
    }
    return file;
  }
  // The numbers that it stands for, as transformers has them.
  std::map<std::string, TestTensor> numbers(const TestFile& file) {
    std::map<std::string, TestTensor> out;
    for (const Role& role : kRoles) {
      const std::string& codes = file.tensors.at(kBank + role.name + "_blocks").bytes;
      const std::string& scales = file.tensors.at(kBank + role.name + "_scales").bytes;
      std::vector<float> values;
      for (std::uint64_t i = 0; i < codes.size() * 2; ++i) {
        const auto byte = static_cast<std::uint8_t>(codes[i / 2]);
        values.push_back(std::ldexp(e2m1(i % 2 == 0 ? byte & 15 : byte >> 4),
                                    static_cast<std::uint8_t>(scales[i / 32]) - 127));
      }
      TestTensor tensor = floats({kExperts, role.cols, role.rows}, values);
      tensor.bytes = turned(tensor.bytes, role.rows, role.cols, 4);
      out[kBank + role.name] = tensor;
      out[kBank + role.name + "_bias"] = file.tensors.at(kBank + role.name + "_bias");
    }
    return out;
  }
  QuantizeOptions asked() const {
    QuantizeOptions options;
    options.format = WeightFormat::nvfp4;
    return options;
  }
};

TEST_F(GptOss, BecomesTheNumbersThatItStandsFor) {
  const TestFile file = mxfp4();
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{300}}) {
    const Plan plan = plan_dequantize(header(file), DType::f32).value();
    EXPECT_EQ(converted(file, plan, piece).tensors, numbers(file));
  }
  EXPECT_EQ(output(plan_dequantize(header(file), DType::bf16).value(), kBank + "gate_up_proj"),
            "BF16 [2, 64, 192]");
}

TEST_F(GptOss, IsCastToNvfp4WithoutRoundingWhereThatIsAskedFor) {
  const TestFile file = mxfp4();
  const auto unasked = plan_quantize(header(file));
  ASSERT_FALSE(unasked);
  EXPECT_EQ(unasked.error().message(),
            "diecast: not_supported: the model is quantized already: "
            "\"model.layers.0.mlp.experts.down_proj_blocks\" is MXFP4, which engines read\n"
            "  fix: `--format nvfp4` casts it without rounding; `diecast dequantize --to bf16` "
            "makes it a BF16 model");
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{300}}) {
    const Plan plan = plan_quantize(header(file), asked()).value();
    ASSERT_EQ(plan.notes.size(), 1u);
    EXPECT_NE(plan.notes[0].find("experts with biases"), std::string::npos) << plan.notes[0];
    const TestFile out = converted(file, plan, piece);
    EXPECT_EQ(report_.exact_blocks, report_.cast_blocks);
    EXPECT_EQ(report_.cast_blocks, kExperts * 3 * kInner * kHidden / 16);
    EXPECT_EQ(out.tensors.size(), 10u);
    for (const Role& role : kRoles) {
      const std::string name = kBank + role.name;
      const TestTensor& codes = out.tensors.at(name);
      EXPECT_EQ(codes.shape, (Dims{kExperts, role.cols / 2, role.rows}));
      EXPECT_EQ(codes.bytes,
                turned(file.tensors.at(name + "_blocks").bytes, role.rows, role.cols / 2, 1));
      EXPECT_EQ(out.tensors.at(name + "_weight_scale").shape,
                (Dims{kExperts, role.cols / 16, role.rows}));
      EXPECT_EQ(out.tensors.at(name + "_weight_scale_2").bytes,
                scalar_bytes(std::ldexp(1.0f, -12)));
      EXPECT_EQ(out.tensors.at(name + "_input_scale").bytes, scalar_bytes(1.0f));
    }
    const Plan back = plan_dequantize(header(out), DType::f32).value();
    EXPECT_EQ(converted(out, back, piece).tensors, numbers(file));
    // What is in the file says the same without our metadata.
    TestFile foreign = out;
    foreign.metadata = {{"format", "pt"}};
    const Plan read = plan_dequantize(header(foreign), DType::f32).value();
    EXPECT_EQ(converted(foreign, read, piece).tensors, numbers(file));
  }
}

// Its own numbers, as BF16 has them: under the scales that they came from, or lesser ones, nothing
// is rounded.
TEST_F(GptOss, OfBf16BecomesMxfp4AsItsAuthorsStoreIt) {
  const TestFile file = mxfp4();
  TestFile plain = converted(file, plan_dequantize(header(file), DType::bf16).value());
  plain.tensors["model.layers.0.self_attn.o_proj.weight"] = random_tensor("BF16", {64, 64}, 9);
  QuantizeOptions options;
  options.model.model_type = "gpt_oss";
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{300}}) {
    const TestFile out = converted(plain, plan_quantize(header(plain), options).value(), piece);
    EXPECT_EQ(out.tensors.at("model.layers.0.self_attn.o_proj.weight").dtype, "BF16");
    for (const Role& role : kRoles) {
      const std::string name = kBank + role.name;
      EXPECT_EQ(out.tensors.at(name + "_blocks").shape, file.tensors.at(name + "_blocks").shape);
      EXPECT_EQ(out.tensors.at(name + "_scales").shape, file.tensors.at(name + "_scales").shape);
      EXPECT_EQ(out.tensors.count(name), 0u);
    }
    const TestFile back = converted(out, plan_dequantize(header(out)).value(), piece);
    EXPECT_EQ(back.tensors, plain.tensors);
    EXPECT_EQ(back.metadata, plain.metadata);
  }
  options.config = EngineConfig::gpt_oss;
  options.format = WeightFormat::mxfp8;
  EXPECT_EQ(plan_quantize(header(plain), options).error().code, ErrorCode::not_supported);
  const auto said = quantized_model_config("{}", [&] {
    options.format = WeightFormat::mxfp4;
    return plan_quantize(header(plain), options).value();
  }());
  EXPECT_EQ(nlohmann::json::parse(said.value())["quantization_config"]["quant_method"], "mxfp4");
}

TEST_F(GptOss, ThatIsNotQuantizedAgainBecomesBf16) {
  TestFile file = mxfp4();
  file.tensors["model.layers.0.self_attn.o_proj.weight"] = random_tensor("BF16", {64, 64}, 9);
  QuantizeOptions options = asked();
  options.exclude = {"*.experts.*"};
  const Plan plan = plan_quantize(header(file), options).value();
  const std::string note =
      "weights of the quantized model that are not quantized again become BF16: 2";
  EXPECT_EQ(std::ranges::count(plan.notes, note), 1);
  const TestFile out = converted(file, plan);
  const TestFile want = converted(file, plan_dequantize(header(file), DType::bf16).value());
  for (const Role& role : kRoles)
    EXPECT_EQ(out.tensors.at(kBank + role.name), want.tensors.at(kBank + role.name));
}

TEST_F(GptOss, ExpertsOfColumnsStayTogetherUnderOneScale) {
  TestFile file, rows;
  for (const Role& role : kRoles) {
    TestTensor tensor = random_tensor("BF16", {kExperts * role.rows, role.cols}, role.rows);
    rows.tensors["l.0." + role.name + ".weight"] = tensor;
    tensor.shape = {kExperts, role.cols, role.rows};
    tensor.bytes = turned(tensor.bytes, role.rows, role.cols, 2);
    file.tensors[kBank + role.name] = tensor;
  }
  file.metadata = rows.metadata = {{"format", "pt"}};
  QuantizeOptions options;
  options.experts = ExpertForm::fused;
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{300}}) {
    const TestFile want = quantized(rows);
    const TestFile out = converted(file, plan_quantize(header(file), options).value(), piece);
    for (const Role& role : kRoles) {
      const std::string one = "l.0." + role.name, all = kBank + role.name;
      EXPECT_EQ(out.tensors.at(all).bytes,
                turned(want.tensors.at(one + ".weight").bytes, role.rows, role.cols / 2, 1));
      EXPECT_EQ(out.tensors.at(all + "_weight_scale").bytes,
                turned(want.tensors.at(one + ".weight_scale").bytes, role.rows, role.cols / 16, 1));
      EXPECT_EQ(out.tensors.at(all + "_weight_scale_2"), want.tensors.at(one + ".weight_scale_2"));
    }
    const TestFile back = converted(out, plan_dequantize(header(out)).value(), piece);
    EXPECT_EQ(back.metadata, file.metadata);
    const TestFile rows_back = converted(want, plan_dequantize(header(want)).value());
    for (const Role& role : kRoles) {
      EXPECT_EQ(back.tensors.at(kBank + role.name).shape, file.tensors.at(kBank + role.name).shape);
      EXPECT_EQ(back.tensors.at(kBank + role.name).bytes,
                turned(rows_back.tensors.at("l.0." + role.name + ".weight").bytes, role.rows,
                       role.cols, 2));
    }
  }
}

TEST(FusedPlan, RefusesWhatNoToolKeepsInOneTensor) {
  QuantizeOptions options;
  options.experts = ExpertForm::fused;
  const auto plan = [&](Dims up, Dims down) {
    return plan_quantize(header_of({{"l.0.experts.gate_up_proj", StoredDType::bf16, up},
                                    {"l.0.experts.down_proj", StoredDType::bf16, down}}),
                         options);
  };
  EXPECT_EQ(plan({2, 64, 48}, {2, 48, 32}).error().message(),
            "diecast: not_supported: \"l.0.experts.down_proj\" has experts in rows, which no tool "
            "keeps in one tensor\n"
            "  fix: leave out --experts fused: they are split");
  EXPECT_TRUE(plan({2, 48, 64}, {2, 32, 48}));
  options.row_scaled = true;
  EXPECT_EQ(plan({2, 48, 64}, {2, 32, 48}).error().code, ErrorCode::not_supported);
}

TEST(GptOssPlan, OfOtherShapesIsRefused) {
  QuantizeOptions options;
  options.format = WeightFormat::nvfp4;
  for (const auto& [codes, scales] : {std::pair<Dims, Dims>{{2, 8, 2, 8}, {2, 8, 2}},
                                      {{2, 8, 2, 16}, {2, 8, 1}},
                                      {{2, 8, 2, 16}, {2, 8, 2, 1}},
                                      {{2, 8, 32}, {2, 8, 2}}}) {
    const auto plan =
        plan_quantize(header_of({{"l.0.experts.down_proj_blocks", StoredDType::u8, codes},
                                 {"l.0.experts.down_proj_scales", StoredDType::u8, scales},
                                 {"l.0.o_proj.weight", StoredDType::bf16, {32, 32}}}),
                      options);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::file_corrupt) << plan.error().message();
  }
}

}  // namespace
}  // namespace diecast::testing
