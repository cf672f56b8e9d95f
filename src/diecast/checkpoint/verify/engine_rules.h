// How two engines match the modules of a ModelOpt config that stay as they are: vLLM 0.32
// (ModelOptQuantConfigBase.is_layer_excluded) and SGLang (ModelOptFp4Config.is_layer_excluded).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace diecast {

enum class Engine : std::uint8_t { vllm, sglang };
inline constexpr Engine kEngines[] = {Engine::vllm, Engine::sglang};
std::string_view engine_name(Engine engine);  // "vllm"
// With the version whose rules are written down here, where it is known.
std::string_view engine_title(Engine engine);

// fails: the engine stops with an error of its own.
enum class Ignored : std::uint8_t { no, yes, fails };
Ignored ignored_by(Engine engine, std::span<const std::string> list, const std::string& module);

}  // namespace diecast
