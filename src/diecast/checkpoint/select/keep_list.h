// Modules that stay as they are by their names, in whatever layer: some engine reads each of them
// as floating-point numbers, or makes another one of it.
#pragma once

#include <span>
#include <string_view>

namespace diecast {

// What the components of a name say it is, if that is never quantized by default; else empty.
std::string_view kept_kind(std::string_view name);
// Of the keys and weights of DeepSeek's sparse attention.
inline constexpr std::string_view kIndexerPart = "a part of the sparse attention's indexer";

// A part of an MLP, experts among them; or the projection behind attention.
bool mlp_part(std::string_view name);
bool output_projection(std::string_view name);

// The matrix that makes logits or scores: lm_head, output, score, ...
bool is_head(std::string_view name);

// A part of a vision tower or of what carries its features over, as ModelOpt's recipes know them.
bool vision_part(std::string_view name);

// Whether one of these is a component of the name, as "mlp" is of "layers.0.mlp.up_proj".
bool has_component(std::string_view name, std::span<const std::string_view> components);

// Part of a tensor of experts, as some model calls these.
bool holds_experts(std::string_view name);

}  // namespace diecast
