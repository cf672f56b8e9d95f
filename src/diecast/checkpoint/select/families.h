// Which weights an engine makes one module of: they are quantized together or not at all, and those
// of one matrix under one global scale.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Projections of one module that read the same input: an engine may make one matrix of them, so
// they are quantized under one global scale.
struct ProjectionFamily {
  std::array<std::string_view, 6> names;  // the last may be empty
  std::string_view fused = {};   // what engines that look for it in a config call that matrix
  std::string_view beside = {};  // a projection that the module has too where they are a family

  std::span<const std::string_view> roles() const {
    std::size_t count = 0;
    while (count < names.size() && !names[count].empty()) ++count;
    return std::span(names).first(count);
  }
};
inline constexpr ProjectionFamily kProjectionFamilies[] = {
    {{"gate_proj", "up_proj"}, "gate_up_proj"},
    {{"w1", "w2"}, "gate_up_proj", "c_proj"},
    {{"w1", "w3"}, "gate_up_proj"},
    {{"c_fc_0", "c_fc_1"}, "gate_up_proj"},
    {{"wi_0", "wi_1"}},
    {{"q_proj", "k_proj", "v_proj", "b_proj", "f_a_proj", "g_a_proj"},
     "in_proj_qkvbfg_a",
     "g_a_proj"},
    {{"q_proj", "k_proj", "v_proj", "g_proj", "f_a_proj", "b_proj"}, "in_proj_qkvgfab", "f_a_proj"},
    {{"q_proj", "k_proj", "v_proj", "g_proj"}, "in_proj_qkvg", "a_proj"},
    {{"q_proj", "k_proj", "v_proj", "b_proj"}, "qkvb_proj", "f_proj"},
    {{"q_proj", "k_proj", "v_proj"}, "qkv_proj"},
    {{"wq", "wk", "wv"}},
    {{"query", "key", "value"}, "qkv_proj"},
    {{"q_a_proj", "kv_a_proj_with_mqa", "g_proj"}, "fused_qkv_a_g_proj", "g_proj"},
    {{"q_a_proj", "kv_a_proj_with_mqa"}, "fused_qkv_a_proj_with_mqa"},
    {{"wq_a", "wkv_a", "wkv"}},
    {{"wq_du", "wk_dv", "wv_dv", "wr_du"}, "qkvr"},
    {{"in_proj_qkv", "in_proj_z"}, "in_proj_qkvz"},
    {{"in_proj_b", "in_proj_a"}, "in_proj_ba"}};

// "model.layers.0.mlp." of model.layers.0.mlp.up_proj.weight, and the family of up_proj in this
// checkpoint; null: it has none.
struct Membership {
  std::string_view module;
  const ProjectionFamily* family = nullptr;
};
Membership membership(const CheckpointHeader& header, std::string_view weight);

// What is quantized as a whole: "model.layers.0.mlp.experts" of each weight of its experts, which
// engines keep in one module; "model.layers.0.self_attn" of compressed attention (MLA), whose
// projections SGLang knows by their last names alone; the family's first member that there is; else
// the weight itself.
std::string unit_of(const CheckpointHeader& header, std::string_view weight);

// "a.mlp.experts" of "a.mlp.experts.7.up_proj". Empty: it is no expert of several.
std::string_view expert_bank(std::string_view name);

}  // namespace diecast
