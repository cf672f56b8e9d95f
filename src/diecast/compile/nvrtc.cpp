// NVRTC as a compiler: checks before the call what can be checked, and believes nothing after it.
#include <diecast/base/hash.h>
#include <diecast/base/text.h>
#include <diecast/compile/log.h>
#include <diecast/compile/nvrtc.h>
#include <diecast/compile/nvrtc_api.h>
#include <diecast/compile/nvrtc_program.h>
#include <diecast/template/complete_source.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

extern char** environ;

namespace diecast {
namespace {

struct Version {
  int major, minor;
};

// The NVRTC that first builds for a target, by NVIDIA's release notes and by trying them.
Version first_version(const Target& target) {
  switch (target.cc) {
    case 88:
    case 110:
      return {13, 0};
    case 103:
    case 121:
      return {12, 9};
    case 100:
    case 120:
      return {12, target.suffix == 'f' ? 9 : 8};
    default:
      return {12, 1};
  }
}

bool at_least(const nvrtc::Api& api, Version version) {
  return api.major != version.major ? api.major > version.major : api.minor >= version.minor;
}

// "-env<8 hex>" of the names and values of variables that change code; empty if none is set.
std::string environment_suffix() {
  std::vector<std::string_view> entries;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals + 1 == text.size()) continue;
    if (changes_nvrtc_code(text.substr(0, equals))) entries.push_back(text);
  }
  if (entries.empty()) return {};
  std::sort(entries.begin(), entries.end());
  Record record;
  for (const std::string_view entry : entries) record.add(1, entry);
  return "-env" + record.digest().hex().substr(0, 8);
}

std::atomic<int> compiling = 0;
std::atomic<bool> cut_off = false;  // this process was forked while NVRTC was at work

// NVRTC's own locks are then held for ever by threads that are not here.
Result<void> usable_after_fork() {
  static const int watched = pthread_atfork(nullptr, nullptr, [] { cut_off = compiling > 0; });
  (void)watched;
  if (!cut_off) return {};
  return Error{ErrorCode::compiler_unavailable,
               "this process was forked while NVRTC was compiling, and NVRTC does not work in it",
               "fork while nothing is compiled, start the child with exec or posix_spawn, or warm "
               "the cache"};
}

// One of the compiles that run at once.
class Place {
 public:
  explicit Place(std::counting_semaphore<>& places) : places_(places) {
    ++compiling;
    places_.acquire();
  }
  Place(const Place&) = delete;
  ~Place() {
    places_.release();
    --compiling;
  }

 private:
  std::counting_semaphore<>& places_;
};

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(nvrtc::Api api)
      : api_(std::move(api)),
        identity_(cat("nvrtc-", api_.version(), "-", api_.build, environment_suffix())),
        places_(std::clamp<std::ptrdiff_t>(std::thread::hardware_concurrency(), 1, kMostAtOnce)) {}

  const std::string& identity() const override { return identity_; }
  const std::string& path() const override { return api_.path; }
  std::string description() const override {
    return cat("NVRTC ", api_.version(), " (", api_.path, ")");
  }
  Result<void> accepts(const Target& target) const override;
  Result<Artifact> compile(const Source& source, const Target& target) override;
  Result<std::string> ptx(const Source& source, const Target& target) override;

 private:
  // NVRTC may run on many threads; each takes some 90 MB, and beyond the cores nothing is gained.
  static constexpr std::ptrdiff_t kMostAtOnce = 4;

  Result<void> may_build(const Source& source, const Target& target) const;
  // Compiles, and returns NVRTC's log.
  Result<std::string> build(nvrtc::OpenProgram& program, const Source& source,
                            const Target& target) const;
  std::vector<std::string> options(const Source& source, const Target& target) const;
  std::string log_without_report(const Source& source, const Target& target) const;
  Error failure(const Source& source, const Target& target, std::string_view function,
                nvrtc::Status status, std::string_view log) const;

  const nvrtc::Api api_;
  const std::string identity_;
  std::counting_semaphore<> places_;
};

Result<void> NvrtcCompiler::accepts(const Target& target) const {
  if (target.is_host())
    return Error{ErrorCode::target_not_supported, cat("NVRTC does not build for ", target.name()),
                 "use the host's C++ compiler"};
  const bool known = std::binary_search(api_.archs.begin(), api_.archs.end(), target.cc);
  const Version first = first_version(target);
  if (known && at_least(api_, first)) return {};
  std::vector<std::string> names;
  for (const int arch : api_.archs) names.push_back(cat("sm_", arch));
  return Error{ErrorCode::target_not_supported,
               cat("NVRTC ", api_.version(), " cannot build for ", target.name(),
                   "; its architectures: ", join(names, " ")),
               at_least(api_, first) ? cat("use an older NVRTC, and name it in DIECAST_NVRTC")
                                     : cat("use NVRTC ", first.major, ".", first.minor,
                                           " or later, and name it in DIECAST_NVRTC")};
}

std::vector<std::string> NvrtcCompiler::options(const Source& source, const Target& target) const {
  std::vector<std::string> options = code_options(target, source.build);
  options.push_back("--no-source-include");  // else a file in the working directory could come in
  // Its own cache would look for libcuda and write files; the option came with that cache.
  if (at_least(api_, {12, 9})) options.push_back("--no-cache");
  // Without textures, surfaces and the runtime's device functions, which no template can use: a
  // tenth of the time of a small kernel.
  if (at_least(api_, {12, 4})) options.push_back("-minimal");
  return options;
}

// ptxas, asked for its report, leaves out why it refuses too much static shared memory.
std::string NvrtcCompiler::log_without_report(const Source& source, const Target& target) const {
  std::vector<std::string> options = this->options(source, target);
  std::erase(options, "--ptxas-options=-v");
  nvrtc::OpenProgram program(api_);
  if (program.create(source) != nvrtc::kSuccess) return {};
  (void)program.compile(options);
  return program.log();
}

Error NvrtcCompiler::failure(const Source& source, const Target& target, std::string_view function,
                             nvrtc::Status status, std::string_view log) const {
  const std::string compiler = cat("NVRTC ", api_.version());
  if (status == nvrtc::kCompilation) return rejected_source(source, target, compiler, log);
  std::string what = cat(source.name, " for ", target.name(), ": ", compiler, ": ", function,
                         " gave ", api_.status_text(status));
  if (const std::string cleaned = clean_log(log); !cleaned.empty()) what += cat("\n", cleaned);
  if (status == nvrtc::kOutOfMemory)
    return {ErrorCode::out_of_memory, what, "free memory; a compile takes about 100 MB"};
  if (status == nvrtc::kBuiltinOperationFailure)
    return {ErrorCode::compiler_unavailable, what,
            cat("install libnvrtc-builtins.so.", api_.version(), " of the same release beside ",
                api_.path)};
  return {ErrorCode::compile_failed, what, "try another version of NVRTC through DIECAST_NVRTC"};
}

Result<std::string> NvrtcCompiler::build(nvrtc::OpenProgram& program, const Source& source,
                                         const Target& target) const {
  if (const auto status = program.create(source); status != nvrtc::kSuccess)
    return failure(source, target, "nvrtcCreateProgram", status, {});
  const auto with = options(source, target);
  const auto status =
      source.build == BuildKind::plain ? program.compile(with) : program.compile_at_root(with);
  std::string log = program.log();
  if (status == nvrtc::kCompilation && !log.empty() &&
      clean_log(without_ptxas_report(log)).empty()) {
    log = log_without_report(source, target);
  }
  if (status != nvrtc::kSuccess) return failure(source, target, "nvrtcCompileProgram", status, log);
  return log;
}

Result<void> NvrtcCompiler::may_build(const Source& source, const Target& target) const {
  DIECAST_CHECK(accepts(target));
  DIECAST_CHECK(check_complete(source));
  return usable_after_fork();
}

Result<std::string> NvrtcCompiler::ptx(const Source& source, const Target& target) {
  DIECAST_CHECK(may_build(source, target));
  const Place place(places_);
  nvrtc::OpenProgram program(api_);
  DIECAST_CHECK(build(program, source, target));
  return program.ptx();
}

Result<Artifact> NvrtcCompiler::compile(const Source& source, const Target& target) {
  DIECAST_CHECK(may_build(source, target));
  const Place place(places_);

  const auto start = std::chrono::steady_clock::now();
  nvrtc::OpenProgram program(api_);
  DIECAST_TRY(const std::string log, build(program, source, target));
  Artifact artifact;
  DIECAST_TRY(artifact.payload, program.cubin());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (auto checked = check_cubin(artifact.payload, target, source.symbol); !checked)
    return Error{
        ErrorCode::compile_failed,
        cat(source.name, " for ", target.name(), ": the cubin of NVRTC ", api_.version(), " is ",
            checked.error().what),
        cat("declare the kernel ", source.symbol, " in ", source.name, " with DIECAST_KERNEL")};
  const PtxasReport report = read_ptxas_report(log, source.symbol);
  artifact.kind = Artifact::Kind::cubin;
  artifact.target = target;
  artifact.symbol = source.symbol;
  artifact.compiler = identity_;
  artifact.registers = report.registers;
  artifact.spill_bytes = report.spill_bytes;
  artifact.local_bytes = report.stack_bytes;
  artifact.static_shared_bytes = report.static_shared_bytes;
  artifact.compile_ms = elapsed.count();
  artifact.log = clean_log(without_ptxas_report(log));
  return artifact;
}

}  // namespace

bool changes_nvrtc_code(std::string_view variable) {
  static constexpr std::string_view kNames[] = {"NVRTC_APPEND_FLAGS", "NVRTC_PREPEND_FLAGS",
                                                "NVRTCWIZ", "NVVM_IR_VER_CHK", "NV_NVVM_VERSION"};
  return std::find(std::begin(kNames), std::end(kNames), variable) != std::end(kNames) ||
         variable.starts_with("EDG_") || variable.starts_with("LLVM_OVERRIDE_");
}

Result<std::shared_ptr<Compiler>> open_nvrtc(const NvrtcSearch& search) {
  DIECAST_TRY(nvrtc::Api api, nvrtc::find(search));
  return std::shared_ptr<Compiler>(std::make_shared<NvrtcCompiler>(std::move(api)));
}

}  // namespace diecast
