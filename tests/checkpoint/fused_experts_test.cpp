// Experts of a layer in one tensor, in rows or in columns: each expert's weights have the bits that
// they would have had in tensors of their own, and come back into the one.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>

namespace diecast::testing {
namespace {

constexpr std::uint64_t kExperts = 3, kHidden = 48, kInner = 32;
const std::string kBank = "model.layers.0.mlp.experts";

// The elements [e][first + r][c] of a tensor in rows, or [e][c][first + r] of one in columns.
TestTensor matrix_of(const TestTensor& all, std::uint64_t expert, std::uint64_t first,
                     std::uint64_t rows, std::uint64_t cols, bool columns) {
  const std::uint64_t width = all.dtype == "F32" ? 4 : 2;
  TestTensor out{all.dtype, {rows, cols}, {}};
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      const std::uint64_t at = columns ? c * all.shape[2] + first + r : (first + r) * cols + c;
      out.bytes += all.bytes.substr((expert * all.shape[1] * all.shape[2] + at) * width, width);
    }
  }
  return out;
}

TestFile fused(bool columns, const std::string& dtype, bool gated = true) {
  const std::uint64_t outputs = gated ? 2 * kInner : kInner;
  using Shape = std::vector<std::uint64_t>;
  const Shape up = columns ? Shape{kExperts, kHidden, outputs} : Shape{kExperts, outputs, kHidden};
  const Shape down = columns ? Shape{kExperts, kInner, kHidden} : Shape{kExperts, kHidden, kInner};
  TestFile file;
  file.metadata = {{"format", "pt"}};
  file.tensors = {{kBank + (gated ? ".gate_up_proj" : ".up_proj"), random_tensor(dtype, up, 1)},
                  {kBank + ".down_proj", random_tensor(dtype, down, 2)},
                  {"model.layers.0.self_attn.o_proj.weight", random_tensor("BF16", {32, 48}, 3)}};
  return file;
}

// The same experts as weights of their own.
TestFile apart(const TestFile& file, bool columns, bool gated = true) {
  TestFile out;
  out.metadata = file.metadata;
  for (const auto& [name, tensor] : file.tensors) {
    if (!name.starts_with(kBank)) {
      out.tensors[name] = tensor;
      continue;
    }
    const bool down = name.ends_with(".down_proj");
    for (std::uint64_t e = 0; e < kExperts; ++e) {
      const auto add = [&, &of = tensor](const std::string& role, std::uint64_t first) {
        out.tensors[cat(kBank, ".", e, ".", role, ".weight")] =
            matrix_of(of, e, first, down ? kHidden : kInner, down ? kInner : kHidden, columns);
      };
      if (down) add("down_proj", 0);
      if (!down) add(gated ? "gate_proj" : "up_proj", 0);
      if (!down && gated) add("up_proj", kInner);
    }
  }
  return out;
}

class FusedExperts : public Convert {};

TEST_F(FusedExperts, HaveTheBitsOfWeightsOfTheirOwn) {
  for (const bool columns : {false, true}) {
    for (const std::string dtype : {"BF16", "F32"}) {
      for (const bool row_scaled : {false, true}) {
        for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{200}}) {
          SCOPED_TRACE(cat(columns, dtype, row_scaled, piece));
          const TestFile file = fused(columns, dtype);
          QuantizeOptions options;
          options.row_scaled = row_scaled;
          ConvertOptions in_pieces;
          in_pieces.piece_bytes = piece;
          const TestFile together = quantized(file, options, in_pieces);
          EXPECT_EQ(together.tensors, quantized(apart(file, columns), options).tensors);
          // And back: what the weights of their own become, in the tensors that there were.
          quantized(file, options, in_pieces);
          ASSERT_TRUE(dequantize({}, in_pieces));
          const TestFile back = decode(text_of(back_));
          EXPECT_EQ(back.metadata, file.metadata);
          ASSERT_EQ(back.tensors.size(), file.tensors.size());
          for (const auto& [name, tensor] : file.tensors) {
            EXPECT_EQ(back.tensors.at(name).shape, tensor.shape);
            EXPECT_EQ(back.tensors.at(name).dtype, tensor.dtype);
          }
          quantized(apart(file, columns), options);
          ASSERT_TRUE(dequantize());
          EXPECT_EQ(apart(back, columns).tensors, decode(text_of(back_)).tensors);
        }
      }
    }
  }
}

TEST_F(FusedExperts, WithoutAGateLieOnTheSideOfTheHiddenSize) {
  for (const bool columns : {false, true}) {
    const TestFile file = fused(columns, "BF16", false);
    QuantizeOptions options;
    const auto unknown = quantize(file, options);
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message().find("may lie in rows or in columns"), std::string::npos)
        << unknown.error().message();
    EXPECT_NE(unknown.error().fix.find("hidden_size"), std::string::npos);
    options.model.hidden_size = kHidden;
    write_text(in_, encode(file));
    const Checkpoint checkpoint = Checkpoint::open(in_).value();
    const Plan plan = plan_quantize(checkpoint.header(), options).value();
    std::filesystem::remove(out_);
    ASSERT_TRUE(convert(checkpoint, plan, out_, scalar_kernels()));
    const auto together = decode(text_of(out_)).tensors;
    EXPECT_EQ(together, quantized(apart(file, columns, false)).tensors);
  }
}

TEST(FusedExpertsPlan, ShareAScaleByGateAndUpOfEachExpert) {
  const auto header = header_of({{"l.0.experts.gate_up_proj", StoredDType::bf16, {2, 64, 32}},
                                 {"l.0.experts.down_proj", StoredDType::bf16, {2, 32, 32}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(plan.groups.size(), 4u);
  EXPECT_EQ(output(plan, "l.0.experts.1.gate_proj.weight"), "U8 [32, 16]");
  EXPECT_EQ(output(plan, "l.0.experts.1.up_proj.weight_scale_2"), "F32 []");
  EXPECT_EQ(output(plan, "l.0.experts.gate_up_proj"), "none");
  EXPECT_TRUE(plan.notes.empty());
}

TEST(FusedExpertsPlan, ThatDoNotFitAreRefusedAndThoseOfOtherFormsCopied) {
  const auto plan = [](Dims up, Dims down, std::vector<TensorInfo> more = {}) {
    more.push_back({"l.0.o_proj.weight", StoredDType::bf16, {32, 32}});
    if (!up.empty()) more.push_back({"l.0.experts.gate_up_proj", StoredDType::bf16, up});
    if (!down.empty()) more.push_back({"l.0.experts.down_proj", StoredDType::bf16, down});
    return plan_quantize(header_of(std::move(more)));
  };
  EXPECT_EQ(plan({2, 64, 32}, {2, 48, 32}).error().message(),
            "diecast: shape_mismatch: \"l.0.experts.gate_up_proj\" [2, 64, 32] and "
            "\"l.0.experts.down_proj\" [2, 48, 32] do not fit together\n"
            "  fix: leave them out with --exclude \"l.0.experts.*\"");
  EXPECT_EQ(plan({2, 64, 32}, {3, 32, 32}).error().code, ErrorCode::shape_mismatch);
  EXPECT_EQ(plan({2, 64, 32}, {}).error().code, ErrorCode::file_corrupt);
  EXPECT_EQ(plan({}, {2, 64, 32}).error().code, ErrorCode::file_corrupt);
  // No multiples of 16 on one side: all of the bank is copied.
  const Plan odd = plan({2, 48, 32}, {2, 32, 24}).value();
  EXPECT_EQ(planned(odd, "l.0.experts.gate_up_proj").action, Action::copy);
  EXPECT_EQ(planned(odd, "l.0.experts.down_proj").reason, "the inputs, 24, are no multiple of 16");
  const Plan biased = plan({2, 64, 32}, {2, 32, 32},
                           {{"l.0.experts.gate_up_proj_bias", StoredDType::bf16, {2, 64}},
                            {"l.0.experts.down_proj_bias", StoredDType::bf16, {2, 32}}})
                          .value();
  EXPECT_EQ(biased.groups.size(), 1u);
  EXPECT_EQ(biased.notes.size(), 1u);
  const auto taken = plan({2, 64, 32}, {2, 32, 32},
                          {{"l.0.experts.0.up_proj.weight", StoredDType::bf16, {32, 32}}});
  EXPECT_EQ(taken.error().code, ErrorCode::invalid_argument);
}

// Nobody has to believe what metadata say.
TEST(FusedExpertsPlan, OfWhichTheMetadataLieAreRefused) {
  const auto header = header_of({{"l.0.experts.gate_up_proj", StoredDType::bf16, {2, 64, 32}},
                                 {"l.0.experts.down_proj", StoredDType::bf16, {2, 32, 32}}});
  const SafetensorsHeader good = plan_quantize(header).value().outputs[0];
  EXPECT_EQ(encode_header(plan_dequantize(good).value().outputs[0]), encode_header(header));
  const std::string name = R"({"l.0.experts.gate_up_proj":)";
  for (const std::string& text :
       {std::string("no"), std::string("[]"), name + "1}", name + R"({"shape":[2,64,32]}})",
        name + R"({"columns":0,"shape":[2,64,32]}})", name + R"({"columns":true,"shape":[2,64]}})",
        name + R"({"columns":false,"shape":[2,64,-1]}})",
        name + R"({"columns":false,"shape":[2,0,32]}})",
        name + R"({"columns":false,"shape":[3,64,32]}})",
        name + R"({"columns":true,"shape":[2,64,32]}})",
        name + R"({"columns":false,"shape":[4000000000,64,32]}})",
        name + R"({"columns":false,"shape":[2,18446744073709551615,32]}})",
        std::string(R"({"l.0.gate_up_proj":{"columns":false,"shape":[2,64,32]}})")}) {
    SafetensorsHeader bad = good;
    bad.metadata["diecast.experts"] = text;
    const auto plan = plan_dequantize(bad);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, ErrorCode::file_corrupt) << text;
  }
}

}  // namespace
}  // namespace diecast::testing
