// The rules by which weights share an amax.
#pragma once

#include <diecast/checkpoint/plan.h>

#include <array>
#include <span>
#include <string_view>

namespace diecast {

// Projections of one module that read the same input: an engine may make one module of them, so
// they are quantized under one global scale.
struct ProjectionFamily {
  std::array<std::string_view, 3> names;  // the last may be empty
  std::string_view fused = {};  // what engines that look for it in a config call that module

  std::span<const std::string_view> roles() const {
    return std::span(names).first(names[2].empty() ? 2 : 3);
  }
};
inline constexpr ProjectionFamily kProjectionFamilies[] = {
    {{"gate_proj", "up_proj"}, "gate_up_proj"},   {{"w1", "w3"}},
    {{"q_proj", "k_proj", "v_proj"}, "qkv_proj"}, {{"wq", "wk", "wv"}},
    {{"q_a_proj", "kv_a_proj_with_mqa"}},         {{"in_proj_qkv", "in_proj_z"}, "in_proj_qkvz"},
    {{"in_proj_b", "in_proj_a"}, "in_proj_ba"}};

// Fills the plan's groups with its quantized tensors, each in one, and notes what stands alone that
// might have shared.
void form_groups(Plan& plan);

}  // namespace diecast
