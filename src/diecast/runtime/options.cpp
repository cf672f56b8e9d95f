// What a runtime reads of its surroundings: the environment, once; the cache's roots; the trace.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

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

// A file of something else must not get lines. Of a trace, as of any manifest, the first line that
// is no comment is a spelling.
Result<void> check_is_trace(const LineFile& file, const std::string& path) {
  const std::string begin = file.begin(4096);
  for (std::string_view line : split(file_text(as_bytes(begin)), '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto spelling = parse_spelling(line);
    if (spelling && !(spelling->values.empty() && spelling->targets.empty())) return {};
    return Error{
        ErrorCode::parse_error,
        cat("the trace ", quote(path, 1000), " is another file: it begins with ", quote(line, 80)),
        "give DIECAST_TRACE the path of a new file, or of a trace or manifest"};
  }
  return {};
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
  take(options, "DIECAST_CACHE_POLICY", options.cache_policy, parse_cache_policy);
  take(options, "DIECAST_CACHE_COMPILERS", options.cache_compilers, parse_compiler_choice);
  take(options, "DIECAST_CACHE_BYTES", options.cache_bytes, parse_bytes);
  options.nvrtc = NvrtcSearch::from_environment();
  options.host_cxx = HostCxxOptions::from_environment();
  return options;
}

Result<void> Runtime::State::open_cache() {
  if (options.cache == "off" || options.cache_policy == CachePolicy::off) {
    // Who asks for hits alone is told that there are none.
    if (options.cache_policy != CachePolicy::require_hit) options.cache_policy = CachePolicy::off;
    cache_state = "off";
    return {};
  }
  const std::string setting = options.cache.empty() ? DiskCache::default_root() : options.cache;
  if (setting.empty()) {
    cache_state = "off: no home directory; set DIECAST_CACHE to an absolute directory";
    tell(RuntimeEvent::Kind::degraded, "", cache_state, 0);
    return {};
  }
  DIECAST_TRY(const auto roots, parse_cache_setting(setting));
  const CachePolicy policy = options.cache_policy;
  const bool looks = !options.creates_roots || policy == CachePolicy::require_hit;
  const bool write = policy != CachePolicy::read_only;
  const RootAccess access = !write                            ? RootAccess::read
                            : looks && !options.cache.empty() ? RootAccess::existing
                                                              : RootAccess::create;
  cache = CacheRoots::open(roots, access, refused_roots, *options.files);
  cache_state = cache->layers().empty() ? "off" : cache->description();
  if (cache->layers().empty()) cache.reset();
  for (const auto& [root, error] : refused_roots) {
    const std::string name = root_name(root);
    cache_state += cat("; left out: ", name, ": ", error.what);
    tell(RuntimeEvent::Kind::degraded, "",
         cat("left out: ", name, ": ", error.what, "\n  fix: ", error.fix), 0);
  }
  count.degraded += refused_roots.size();
  return {};
}

Result<void> Runtime::State::open_trace() {
  if (options.trace.empty()) return {};
  DIECAST_TRY(trace, LineFile::open(system_files(), options.trace));
  return check_is_trace(trace, options.trace);
}

}  // namespace diecast
