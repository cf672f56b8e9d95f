// What a runtime reads of its surroundings: the environment, once; the cache's roots; the trace.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>
#include <fcntl.h>

#include <algorithm>

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
Result<void> check_is_trace(FileSystem& disk, int file, const std::string& path) {
  std::string begin(4096, '\0');
  const ssize_t size = disk.read_at(file, begin.data(), begin.size(), 0);
  begin.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
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

Result<CachePolicy> parse_cache_policy(std::string_view word) {
  constexpr std::pair<std::string_view, CachePolicy> kWords[] = {
      {"auto", CachePolicy::automatic},
      {"require-hit", CachePolicy::require_hit},
      {"read-only", CachePolicy::read_only},
      {"off", CachePolicy::off},
      {"rebuild", CachePolicy::rebuild}};
  for (const auto& [name, policy] : kWords) {
    if (word == name) return policy;
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
    options.cache_policy = CachePolicy::off;
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
  const bool write = options.cache_policy != CachePolicy::read_only;
  cache = CacheRoots::open(roots, write, refused_roots, *options.files);
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
  FileSystem& disk = system_files();
  const int file = disk.open_at(AT_FDCWD, options.trace.c_str(), O_RDWR | O_APPEND | O_CREAT, 0644);
  if (file < 0) return file_error("write the trace", options.trace, file);
  trace = Descriptor(disk, file);
  struct stat status = {};
  char last = '\n';
  const bool regular = disk.status(file, &status) >= 0 && S_ISREG(status.st_mode);
  if (regular) DIECAST_CHECK(check_is_trace(disk, file, options.trace));
  if (regular && status.st_size > 0)
    (void)disk.read_at(file, &last, 1, static_cast<std::uint64_t>(status.st_size) - 1);
  if (last != '\n') (void)disk.write_at(file, "\n", 1, 0);  // of a line that was cut off
  return {};
}

}  // namespace diecast
