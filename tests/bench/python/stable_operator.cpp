// An operator of torch that does nothing, in C: what torch itself takes for a call when no Python
// stands between its dispatcher and an op. It is registered by the C functions of torch 2.10 and
// later, which are looked up in torch's own library.
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace {

using Value = std::uint64_t;  // what the dispatcher passes: a number or an owned handle
using Body = void(Value* stack, std::uint64_t inputs, std::uint64_t outputs);

// How to give arguments back, by their letters: a tensor, one that may be left out, a word.
struct Given {
  std::string kinds;
  int (*free_tensor)(void*);
  int (*free_word)(void*);
} given;

void* handle(Value value) { return reinterpret_cast<void*>(value); }

void do_nothing(Value* stack, std::uint64_t inputs, std::uint64_t) {
  for (std::uint64_t i = 0; i < inputs; ++i) {
    if (given.kinds[i] == 't') given.free_tensor(handle(stack[i]));
    if (given.kinds[i] == 's') given.free_word(handle(stack[i]));
    if (given.kinds[i] != 'o' || stack[i] == 0) continue;
    auto* const tensor = static_cast<Value*>(handle(stack[i]));
    given.free_tensor(handle(*tensor));
    delete tensor;
  }
}

}  // namespace

// Registers operator NAME of `library` on CUDA. KINDS has a letter for each argument: t, o, s, or n
// for a number. 0: it is registered. Else this torch has no such functions, or refuses.
extern "C" __attribute__((visibility("default"))) int diecast_bench_stable_operator(
    const char* torch_file, const char* library, const char* name, const char* kinds) {
  constexpr std::uint64_t kVersion = std::uint64_t{2} << 56 | std::uint64_t{10} << 48;  // of torch
  void* const torch = dlopen(torch_file, RTLD_NOLOAD | RTLD_NOW);
  if (torch == nullptr) return 1;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(torch, symbol));
    return function != nullptr;
  };
  int (*open)(const char*, const char*, const char*, std::uint32_t, void**);
  int (*implement)(void*, const char*, Body*, std::uint64_t);
  if (!find(open, "aoti_torch_library_init_impl") || !find(implement, "torch_library_impl") ||
      !find(given.free_tensor, "aoti_torch_delete_tensor_object") ||
      !find(given.free_word, "torch_delete_string"))
    return 2;
  given.kinds = kinds;
  void* to = nullptr;
  if (open(library, "CUDA", __FILE__, __LINE__, &to) != 0) return 3;
  return implement(to, name, do_nothing, kVersion);
}
