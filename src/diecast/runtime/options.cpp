// A runtime's options in words: cache policies, and what the environment says.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>

namespace diecast {
namespace {

// A number of bytes: digits, perhaps K, M, G or T (1024 each).
Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t factor = 1;
  std::string_view digits = text;
  if (const auto unit = std::string_view("KMGT").find(text.empty() ? ' ' : text.back());
      unit != std::string_view::npos) {
    factor = std::uint64_t{1024} << (10 * unit);
    digits.remove_suffix(1);
  }
  const auto number = parse_integer(digits);
  std::uint64_t bytes = 0;
  if (number && *number >= 0 && digits[0] >= '0' && digits[0] <= '9' &&
      !__builtin_mul_overflow(static_cast<std::uint64_t>(*number), factor, &bytes)) {
    return bytes;
  }
  return Error{ErrorCode::invalid_argument, cat(quote(text), " is no number of bytes"),
               "write digits, then nothing or K, M, G or T: 2G; 0 for no limit"};
}

template <class T>
void take(RuntimeOptions& options, const char* name, T& to, Result<T> (*parse)(std::string_view)) {
  const std::string word = environment_variable(name);
  if (word.empty()) return;
  Result<T> value = parse(word);
  if (value) {
    to = *value;
  } else if (!options.wrong) {
    options.wrong = value.error();
    options.wrong->what = cat(name, ": ", options.wrong->what);
  }
}

}  // namespace

std::string_view cache_policy_word(CachePolicy policy) {
  constexpr std::string_view kWords[] = {"auto", "require-hit", "read-only", "off", "rebuild"};
  return kWords[static_cast<std::size_t>(policy)];
}

Result<CachePolicy> parse_cache_policy(std::string_view word) {
  for (const CachePolicy policy :
       {CachePolicy::automatic, CachePolicy::require_hit, CachePolicy::read_only, CachePolicy::off,
        CachePolicy::rebuild}) {
    if (word == cache_policy_word(policy)) return policy;
  }
  return Error{ErrorCode::invalid_argument, cat("no cache policy is named ", quote(word)),
               "use auto, require-hit, read-only, off or rebuild"};
}

RuntimeOptions RuntimeOptions::from_environment() {
  RuntimeOptions options;
  options.template_directory = environment_variable("DIECAST_TEMPLATE_DIR");
  options.cache = environment_variable("DIECAST_CACHE");
  options.trace = environment_variable("DIECAST_TRACE");
  options.tuning = environment_variable("DIECAST_TUNING");
  options.include = environment_variable("DIECAST_INCLUDE");
  options.log = environment_variable("DIECAST_LOG");
  take(options, "DIECAST_CACHE_POLICY", options.cache_policy, parse_cache_policy);
  take(options, "DIECAST_CACHE_COMPILERS", options.cache_compilers, parse_compiler_choice);
  take(options, "DIECAST_BUILD", options.build, parse_build_kind);
  take(options, "DIECAST_CACHE_BYTES", options.cache_bytes, parse_bytes);
  options.nvrtc = NvrtcSearch::from_environment();
  options.host_cxx = HostCxxOptions::from_environment();
  return options;
}

}  // namespace diecast
