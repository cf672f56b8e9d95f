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
                   "l.1.mlp.up_proj.weight", "l.1.mlp.gate_proj.weight", "l.0.e.0.w1.weight",
                   "l.0.e.0.w2.weight", "l.0.e.0.w3.weight", "l.0.a.q_proj.weight",
                   "l.0.a.k_proj.weight", "l.0.a.v_proj.weight", "l.0.a.o_proj.weight",
                   "l.2.gate_proj.weight", "l.2.up_proj.weight"}))
          .value();
  EXPECT_EQ(group_names(plan),
            (std::vector<std::vector<std::string>>{
                {"l.0.a.k_proj.weight", "l.0.a.q_proj.weight", "l.0.a.v_proj.weight"},
                {"l.0.a.o_proj.weight"},
                {"l.0.e.0.w1.weight", "l.0.e.0.w3.weight"},
                {"l.0.e.0.w2.weight"},
                {"l.0.mlp.down_proj.weight"},
                {"l.0.mlp.gate_proj.weight", "l.0.mlp.up_proj.weight"},
                {"l.1.mlp.gate_proj.weight", "l.1.mlp.up_proj.weight"},
                {"l.2.gate_proj.weight", "l.2.up_proj.weight"}}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Plan, ProjectionsThatEnginesFuseShareOneAmaxUnderTheirOtherNames) {
  const Plan plan =
      plan_quantize(weights({"l.0.a.wq.weight",        "l.0.a.wk.weight",
                             "l.0.a.wv.weight",        "l.0.a.wo.weight",
                             "l.0.b.q_a_proj.weight",  "l.0.b.kv_a_proj_with_mqa.weight",
                             "l.0.b.q_b_proj.weight",  "l.0.c.in_proj_qkv.weight",
                             "l.0.c.in_proj_z.weight", "l.0.c.in_proj_b.weight",
                             "l.0.c.in_proj_a.weight", "l.0.c.out_proj.weight",
                             "l.0.d.query.weight",     "l.0.d.key.weight",
                             "l.0.d.value.weight",     "l.0.e.w1.weight",
                             "l.0.e.w2.weight",        "l.0.e.c_proj.weight",
                             "l.0.f.c_fc_0.weight",    "l.0.f.c_fc_1.weight",
                             "l.0.g.wq_a.weight",      "l.0.g.wkv.weight",
                             "l.0.h.q_proj.weight",    "l.0.h.k_proj.weight",
                             "l.0.h.v_proj.weight",    "l.0.h.f_a_proj.weight",
                             "l.0.h.b_proj.weight",    "l.0.i.wi_0.weight",
                             "l.0.i.wi_1.weight"}))
          .value();
  EXPECT_EQ(group_names(plan),
            (std::vector<std::vector<std::string>>{
                {"l.0.a.wk.weight", "l.0.a.wq.weight", "l.0.a.wv.weight"},
                {"l.0.a.wo.weight"},
                {"l.0.b.kv_a_proj_with_mqa.weight", "l.0.b.q_a_proj.weight"},
                {"l.0.b.q_b_proj.weight"},
                {"l.0.c.in_proj_qkv.weight", "l.0.c.in_proj_z.weight"},
                {"l.0.c.out_proj.weight"},
                {"l.0.d.key.weight", "l.0.d.query.weight", "l.0.d.value.weight"},
                {"l.0.e.c_proj.weight"},
                {"l.0.e.w1.weight", "l.0.e.w2.weight"},
                {"l.0.f.c_fc_0.weight", "l.0.f.c_fc_1.weight"},
                {"l.0.g.wkv.weight", "l.0.g.wq_a.weight"},
                {"l.0.h.b_proj.weight", "l.0.h.f_a_proj.weight", "l.0.h.k_proj.weight",
                 "l.0.h.q_proj.weight", "l.0.h.v_proj.weight"},
                {"l.0.i.wi_0.weight", "l.0.i.wi_1.weight"}}));
  EXPECT_TRUE(plan.notes.empty());
}

TEST(Plan, QkvOfGroupedQueryAttentionShareInSpiteOfTheirRows) {
  const Plan plan = plan_quantize(header_of({{"l.0.a.q_proj.weight", StoredDType::bf16, {64, 32}},
                                             {"l.0.a.k_proj.weight", StoredDType::bf16, {16, 32}},
                                             {"l.0.a.v_proj.weight", StoredDType::f32, {16, 32}}}))
                        .value();
  EXPECT_EQ(plan.groups.size(), 1u);
}

// Of experts without a gate no layer has one, and nothing is missing.
TEST(Plan, LoneHalvesAreCountedWhereOtherModulesHaveBoth) {
  const Plan plan =
      plan_quantize(weights({"l.0.a.q_proj.weight", "l.0.a.k_proj.weight", "l.0.a.v_proj.weight",
                             "l.1.a.q_proj.weight", "l.1.a.k_proj.weight", "l.2.a.q_proj.weight",
                             "l.2.a.k_proj.weight", "l.0.m.up_proj.weight"}))
          .value();
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{
                "2 modules, \"l.1.a.q_proj.weight\" and \"l.1.a.k_proj.weight\" in the first, are "
                "scaled without v_proj"});
  EXPECT_EQ(group_names(plan).size(), 4u);
}

TEST(Plan, HalvesThatDoNotFitTogetherShareNothing) {
  QuantizeOptions options;
  options.include = {"*"};
  const Plan plan =
      plan_quantize(header_of({{"l.0.m.gate_proj.weight", StoredDType::bf16, {4, 16, 32}},
                               {"l.0.m.up_proj.weight", StoredDType::bf16, {2, 16, 32}}}),
                    options)
          .value();
  EXPECT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.notes, std::vector<std::string>{
                            "\"l.0.m.gate_proj.weight\" [4, 16, 32] and \"l.0.m.up_proj.weight\" "
                            "[2, 16, 32] do not fit together and share no scale"});
  const Plan experts =
      plan_quantize(header_of({{"l.0.m.gate_proj.weight", StoredDType::bf16, {4, 16, 32}},
                               {"l.0.m.up_proj.weight", StoredDType::bf16, {4, 48, 32}}}),
                    options)
          .value();
  EXPECT_EQ(experts.groups.size(), 1u) << "expert by expert";
}

TEST(Plan, RowScaledWeightsShareNothing) {
  QuantizeOptions options;
  options.row_scaled = true;
  const Plan plan =
      plan_quantize(weights({"l.0.m.gate_proj.weight", "l.0.n.w1.weight", "l.0.m.up_proj.weight"}),
                    options)
          .value();
  EXPECT_EQ(plan.groups.size(), 3u);
  EXPECT_TRUE(plan.notes.empty());
}

}  // namespace
}  // namespace diecast::testing
