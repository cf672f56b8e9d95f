// Who shares an amax, asked of plans for headers alone.
#include <checkpoint/plan_fixture.h>

#include <algorithm>

namespace diecast::testing {
namespace {

std::vector<std::vector<std::string>> group_names(const Plan& plan) {
  std::vector<std::vector<std::string>> names;
  for (const auto& group : plan.groups) {
    names.emplace_back();
    for (const std::size_t i : group) names.back().push_back(plan.tensors[i].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Plan, GateAndUpAndQkvShareOneAmax) {
  const Plan plan =
      plan_quantize(
          weights({"l.0.mlp.gate_proj.weight", "l.0.mlp.up_proj.weight", "l.0.mlp.down_proj.weight",
                   "l.1.mlp.up_proj.weight", "l.1.mlp.gate_proj.weight", "e.0.w1.weight",
                   "e.0.w2.weight", "e.0.w3.weight", "a.q_proj.weight", "a.k_proj.weight",
                   "a.v_proj.weight", "a.o_proj.weight", "gate_proj.weight", "up_proj.weight"}))
          .value();
  EXPECT_EQ(group_names(plan), (std::vector<std::vector<std::string>>{
                                   {"a.k_proj.weight", "a.q_proj.weight", "a.v_proj.weight"},
                                   {"a.o_proj.weight"},
                                   {"e.0.w1.weight", "e.0.w3.weight"},
                                   {"e.0.w2.weight"},
                                   {"gate_proj.weight", "up_proj.weight"},
                                   {"l.0.mlp.down_proj.weight"},
                                   {"l.0.mlp.gate_proj.weight", "l.0.mlp.up_proj.weight"},
                                   {"l.1.mlp.gate_proj.weight", "l.1.mlp.up_proj.weight"}}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Plan, ProjectionsThatEnginesFuseShareOneAmaxUnderTheirOtherNames) {
  const Plan plan =
      plan_quantize(weights({"a.wq.weight", "a.wk.weight", "a.wv.weight", "a.wo.weight",
                             "b.q_a_proj.weight", "b.kv_a_proj_with_mqa.weight",
                             "b.q_b_proj.weight", "c.in_proj_qkv.weight", "c.in_proj_z.weight",
                             "c.in_proj_b.weight", "c.in_proj_a.weight", "c.out_proj.weight"}))
          .value();
  EXPECT_EQ(group_names(plan), (std::vector<std::vector<std::string>>{
                                   {"a.wk.weight", "a.wq.weight", "a.wv.weight"},
                                   {"a.wo.weight"},
                                   {"b.kv_a_proj_with_mqa.weight", "b.q_a_proj.weight"},
                                   {"b.q_b_proj.weight"},
                                   {"c.in_proj_a.weight", "c.in_proj_b.weight"},
                                   {"c.in_proj_qkv.weight", "c.in_proj_z.weight"},
                                   {"c.out_proj.weight"}}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Plan, QkvOfGroupedQueryAttentionShareInSpiteOfTheirRows) {
  const Plan plan = plan_quantize(header_of({{"a.q_proj.weight", StoredDType::bf16, {64, 32}},
                                             {"a.k_proj.weight", StoredDType::bf16, {16, 32}},
                                             {"a.v_proj.weight", StoredDType::f32, {16, 32}}}))
                        .value();
  EXPECT_EQ(plan.groups.size(), 1u);
}

TEST(Plan, LoneHalfIsNoted) {
  QuantizeOptions options;
  options.exclude = {"*.up_proj.weight", "*.v_proj.weight"};
  const Plan plan =
      plan_quantize(weights({"m.gate_proj.weight", "m.up_proj.weight", "a.q_proj.weight",
                             "a.k_proj.weight", "a.v_proj.weight", "b.w3.weight"}),
                    options)
          .value();
  EXPECT_EQ(
      plan.notes,
      (std::vector<std::string>{
          "\"a.q_proj.weight\" and \"a.k_proj.weight\": scaled without v_proj, not among the "
          "quantized weights",
          "\"b.w3.weight\": scaled without w1, not among the quantized weights",
          "\"m.gate_proj.weight\": scaled without up_proj, not among the quantized weights"}));
  EXPECT_EQ(group_names(plan).size(), 3u);
}

TEST(Plan, HalvesThatDoNotFitTogetherShareNothing) {
  const Plan plan = plan_quantize(header_of({{"m.gate_proj.weight", StoredDType::bf16, {4, 16, 32}},
                                             {"m.up_proj.weight", StoredDType::bf16, {2, 16, 32}}}))
                        .value();
  EXPECT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{"\"m.gate_proj.weight\" [4, 16, 32] and \"m.up_proj.weight\" "
                                     "[2, 16, 32] do not fit together and share no scale"});
  const Plan experts =
      plan_quantize(header_of({{"m.gate_proj.weight", StoredDType::bf16, {4, 16, 32}},
                               {"m.up_proj.weight", StoredDType::bf16, {4, 48, 32}}}))
          .value();
  EXPECT_EQ(experts.groups.size(), 1u) << "expert by expert";
}

TEST(Plan, RowScaledWeightsShareNothing) {
  QuantizeOptions options;
  options.row_scaled = true;
  const Plan plan =
      plan_quantize(weights({"m.gate_proj.weight", "n.w1.weight", "m.up_proj.weight"}), options)
          .value();
  EXPECT_EQ(plan.groups.size(), 3u);
  EXPECT_TRUE(plan.notes.empty());
}

}  // namespace
}  // namespace diecast::testing
