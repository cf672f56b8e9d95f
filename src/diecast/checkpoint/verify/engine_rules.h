// Which forms of weights two engines read, and how they match the modules of a config that stay as
// they are: vLLM 0.32 (ModelOptQuantConfigBase.is_layer_excluded) and SGLang 0.5.23
// (ModelOptQuantConfig.is_layer_excluded, and is_layer_skipped for it and Fp8Config).
#pragma once

#include <diecast/checkpoint/stored_form.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace diecast {

enum class Engine : std::uint8_t { vllm, sglang };
inline constexpr Engine kEngines[] = {Engine::vllm, Engine::sglang};
std::string_view engine_name(Engine engine);     // "vllm"
std::string_view engine_version(Engine engine);  // whose rules are written down here: "0.32"
std::string engine_title(Engine engine);         // "vLLM 0.32"

// fails: the engine stops with an error of its own.
enum class Ignored : std::uint8_t { no, yes, fails };
Ignored ignored_by(Engine engine, std::span<const std::string> list, const std::string& module);
// As SGLang does of MXFP8: entries are names of modules, and count for all that stands in them.
Ignored skipped_by_sglang(std::span<const std::string> list, const std::string& module);

// Of a module that engines make of several, as qkv_proj of q_proj, k_proj and v_proj: yes if all of
// these are listed, fails if some are; no for another module.
Ignored parts_ignored(std::string_view module,
                      const std::function<bool(const std::string&)>& is_listed);

// "a.qkv_proj" of a.q_proj: the module that engines make of it and others, where they look for it
// by a name of its own; else empty.
std::string packed_module(std::string_view module);

// A form that an engine does not read.
struct Unread {
  Engine engine = Engine::vllm;
  StoredForm form;
  bool mixed_alone = false;  // it reads the form where the config says no other beside it
  std::string_view why, fix;
};
const Unread* unread(Engine engine, const StoredForm& form, bool mixed);  // null: it reads the form
bool reads(Engine engine, Fp8Form form);  // beside another format, as MIXED_PRECISION says

}  // namespace diecast
