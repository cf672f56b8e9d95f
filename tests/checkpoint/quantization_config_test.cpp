// Which modules a quantized model's config names as those that stay as they are.
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantization_config.h>

namespace diecast::testing {
namespace {

// Engines leave out what the list names and everything in it.
TEST(QuantizationConfig, ModulesOfCopiedMatricesAreNamedIfNothingInThemIsQuantized) {
  const auto header = header_of({{"m.0.mlp.gate.weight", StoredDType::bf16, {8, 64}},
                                 {"m.0.mlp.experts.gate_up_proj", StoredDType::bf16, {8, 64, 64}},
                                 {"m.0.attn.table", StoredDType::bf16, {8, 64}},
                                 {"m.0.attn.q_proj.weight", StoredDType::bf16, {64, 64}},
                                 {"m.0.norm.weight", StoredDType::bf16, {64}},
                                 {"m.0.ids", StoredDType::i64, {8, 64}},
                                 {"lm_head.weight", StoredDType::bf16, {128, 64}}});
  EXPECT_EQ(unquantized_modules(plan_quantize(header).value()),
            (std::vector<std::string>{"lm_head", "m.0.mlp.experts", "m.0.mlp.gate"}));
}

// An engine makes one module of q_proj, k_proj and v_proj, or of a layer's experts, and looks for
// that one's name.
TEST(QuantizationConfig, ModulesThatEnginesMakeOfSeveralAreNamedIfNoPartIsQuantized) {
  std::vector<std::string> names;
  for (const std::string layer : {"m.0.", "m.1."}) {
    for (const char* name :
         {"attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.o_proj", "delta.in_proj_qkv",
          "delta.in_proj_z", "mlp.gate_proj", "mlp.up_proj", "mlp.experts.0.gate_proj",
          "mlp.experts.0.up_proj", "mlp.experts.1.down_proj"})
      names.push_back(cat(layer, name, ".weight"));
  }
  QuantizeOptions options;
  options.exclude = {"m.0.*"};
  const std::vector<std::string> all = {"lm_head",
                                        "m.0.attn.k_proj",
                                        "m.0.attn.o_proj",
                                        "m.0.attn.q_proj",
                                        "m.0.attn.qkv_proj",
                                        "m.0.attn.v_proj",
                                        "m.0.delta.in_proj_qkv",
                                        "m.0.delta.in_proj_qkvz",
                                        "m.0.delta.in_proj_z",
                                        "m.0.mlp.experts",
                                        "m.0.mlp.experts.0.gate_proj",
                                        "m.0.mlp.experts.0.up_proj",
                                        "m.0.mlp.experts.1.down_proj",
                                        "m.0.mlp.gate_proj",
                                        "m.0.mlp.gate_up_proj",
                                        "m.0.mlp.up_proj"};
  EXPECT_EQ(unquantized_modules(plan_quantize(weights(names), options).value()), all);
  options.exclude = {"m.0.*.k_proj.*", "m.0.*.gate_proj.*"};
  EXPECT_EQ(unquantized_modules(plan_quantize(weights(names), options).value()),
            (std::vector<std::string>{"lm_head", "m.0.attn.k_proj", "m.0.attn.q_proj",
                                      "m.0.attn.qkv_proj", "m.0.attn.v_proj", "m.0.mlp.experts",
                                      "m.0.mlp.experts.0.gate_proj", "m.0.mlp.experts.0.up_proj",
                                      "m.0.mlp.experts.1.down_proj", "m.0.mlp.gate_proj",
                                      "m.0.mlp.gate_up_proj", "m.0.mlp.up_proj"}));
}

}  // namespace
}  // namespace diecast::testing
