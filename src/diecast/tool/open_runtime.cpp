// Opening a subcommand's runtime; see open_runtime.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <cerrno>
#include <cstdio>

namespace diecast::tool {

namespace {

void tell(std::string_view of, std::string_view what) {
  std::fputs(cat("diecast: ", of, ": ", what, "\n").c_str(), stderr);
}

}  // namespace

Result<std::shared_ptr<Runtime>> open_runtime(RuntimeOptions options) {
  options.on_event = [](const RuntimeEvent& event) {
    if (event.kind == RuntimeEvent::Kind::degraded) tell("cache", event.detail);
    if (event.kind == RuntimeEvent::Kind::ignored) tell("tuning", event.detail);
  };
  return Runtime::create(std::move(options));
}

Result<std::shared_ptr<Runtime>> open_runtime_to_look() {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.creates_roots = false;
  return open_runtime(std::move(options));
}

RuntimeOptions options_of_build(bool debug) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  if (debug) options.build = BuildKind::debug;
  return options;
}

CLI::Option* add_debug(CLI::App& command, bool& debug) {
  return command.add_flag(
      "--debug", debug, "A build that names its lines and checks what is accessed through tensors");
}

std::vector<std::string> Own::files() const {
  std::vector<std::string> all = templates;
  for (const std::string& header : headers) all.push_back(header.substr(header.find('=') + 1));
  return all;
}

std::vector<std::string> Own::arguments() const {
  std::vector<std::string> all;
  for (const std::string& header : headers) all.insert(all.end(), {"--add-header", header});
  for (const std::string& path : templates) all.insert(all.end(), {"--add", path});
  return all;
}

// Headers first: a template's own lines may use them.
Result<void> add_own_to(Runtime& runtime, const Own& own) {
  for (const std::string& header : own.headers) {
    const std::size_t equals = header.find('=');
    if (equals == header.npos)
      return Error{ErrorCode::invalid_argument,
                   cat("--add-header ", quote(header, 80), " does not say how it is included"),
                   "write --add-header my/common.h=FILE for #include <my/common.h>"};
    DIECAST_CHECK(runtime.add_header(header.substr(0, equals), header.substr(equals + 1)));
  }
  for (const std::string& path : own.templates) DIECAST_CHECK(runtime.add(path));
  return {};
}

Error not_kept(DiskCache& root, std::uint64_t kernels) {
  const int error = root.statistics().publish_error;
  const std::string what = counted(kernels, "kernel");
  if (error == -EEXIST) {
    return {ErrorCode::io_error,
            cat(what, " could not be kept in ", root.root(),
                ": something that is no entry of this diecast has their names"),
            "`diecast cache verify` names the files: remove them"};
  }
  if (error == -ENOTDIR) {
    return {ErrorCode::unsafe_directory,
            cat(what, " could not be kept in ", root.root(),
                ": their folders in it are links or files, or others may write them"),
            cat("look at them with `find ", root.root(),
                "/v1 -maxdepth 2 -ls`; chmod go-w what is yours, remove the rest")};
  }
  if (error < 0) return file_error(cat("write ", what, " to"), root.root(), error);
  if (auto tried = root.check_writing(); !tried) return tried.error();
  return {ErrorCode::io_error, cat(what, " could not be written to ", root.root()),
          "warm again: the disk was too slow or refused for a while"};
}

Result<void> check_kept(Runtime& runtime) {
  runtime.flush();
  const RuntimeCounters done = runtime.counters();
  DiskCache* const root = runtime.cache() == nullptr ? nullptr : runtime.cache()->writable();
  const bool wanted = RuntimeOptions::from_environment().cache_policy != CachePolicy::read_only;
  if (!wanted || root == nullptr || done.compiled <= done.published) return {};
  return not_kept(*root, done.compiled - done.published);
}

void tell_unless_kept(Runtime& runtime) {
  if (const auto kept = check_kept(runtime); !kept) {
    tell("cache", cat("not kept: ", kept.error().what, "\n  fix: ", kept.error().fix));
  }
}

}  // namespace diecast::tool
