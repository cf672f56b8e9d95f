// Who shares an amax, asked of plans for headers alone.
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>

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

// Each module of gates is fused by one engine in its own way; those of others stand alone.
TEST(Plan, GatesShareTheAmaxOfTheAttentionThatEnginesFuseThemWith) {
  const auto groups = [](const std::vector<std::string>& roles) {
    std::vector<std::string> names;
    for (const std::string& role : roles) names.push_back(cat("l.0.a.", role, ".weight"));
    std::vector<std::string> out;
    for (const auto& group : group_names(plan_quantize(weights(names)).value())) {
      out.emplace_back();
      for (const std::string& name : group)
        out.back() += cat(out.back().empty() ? "" : " ", name.substr(6, name.size() - 13));
    }
    return out;
  };
  using Groups = std::vector<std::string>;
  EXPECT_EQ(groups({"q_proj", "k_proj", "v_proj", "g_proj", "o_proj"}),
            (Groups{"g_proj", "k_proj q_proj v_proj", "o_proj"}))
      << "Step-3.7, Laguna";
  EXPECT_EQ(groups({"q_proj", "k_proj", "v_proj", "b_proj", "f_a_proj", "g_a_proj", "g_b_proj"}),
            (Groups{"b_proj f_a_proj g_a_proj k_proj q_proj v_proj", "g_b_proj"}))
      << "GLM-5-Next";
  EXPECT_EQ(groups({"q_proj", "k_proj", "v_proj", "b_proj", "f_a_proj", "g_proj"}),
            Groups{"b_proj f_a_proj g_proj k_proj q_proj v_proj"})
      << "Kimi-K3";
  EXPECT_EQ(groups({"q_a_proj", "kv_a_proj_with_mqa", "g_proj", "q_b_proj"}),
            (Groups{"g_proj kv_a_proj_with_mqa q_a_proj", "q_b_proj"}))
      << "Kimi-K3's compressed attention";
  EXPECT_EQ(groups({"q_proj", "k_proj", "v_proj", "b_proj", "f_proj", "g_proj"}),
            (Groups{"b_proj k_proj q_proj v_proj", "f_proj", "g_proj"}))
      << "Bailing-MoE-V3";
  EXPECT_EQ(groups({"q_proj", "k_proj", "v_proj", "g_proj", "a_proj", "b_proj"}),
            (Groups{"a_proj", "b_proj", "g_proj k_proj q_proj v_proj"}))
      << "OLMo-Hybrid";
  EXPECT_EQ(groups({"wq_du", "wk_dv", "wv_dv", "wr_du", "wo_ud"}),
            (Groups{"wk_dv wq_du wr_du wv_dv", "wo_ud"}))
      << "Inkling";
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

TEST(Plan, AGateOfAttentionLacksNoPartnerThatMlpsHave) {
  const Plan plan =
      plan_quantize(weights({"l.0.a.q_proj.weight", "l.0.a.gate_proj.weight",
                             "l.0.m.gate_proj.weight", "l.0.m.up_proj.weight",
                             "l.0.m.experts.0.gate_proj.weight", "l.0.m.experts.1.up_proj.weight"}))
          .value();
  EXPECT_EQ(plan.notes, (std::vector<std::string>{
                            R"("l.0.m.experts.1.up_proj.weight": scaled without gate_proj)",
                            R"("l.0.m.experts.0.gate_proj.weight": scaled without up_proj)"}));
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
