// The host's C++ compiler as a child process: the source goes into a private directory, the
// shared object is read back, and the directory goes whatever happened.
#include <diecast/base/file.h>
#include <diecast/base/hash.h>
#include <diecast/base/private_directory.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/compiler_parts.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/compile/log.h>
#include <diecast/compile/opened_files.h>
#include <diecast/template/complete_source.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace diecast {
namespace {

constexpr std::uint64_t kObjectLimit = 64u << 20;

// What a function may have on its stack: threads that wait for one another have small ones
// (launch/host/fiber.h), and a frame as large as a stack would reach into another thread's.
constexpr int kLargestFrame = 48 << 10;

Result<void> write_new_file(const std::string& path, std::string_view text) {
  FileSystem& files = system_files();
  Descriptor file(files, files.open_at(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
  if (!file) return temporary_error("create", path, file.number());
  if (const int status = write_exactly(files, file.number(), text.data(), text.size(), 0);
      status < 0)
    return temporary_error("write", path, status);
  if (const int status = file.close(); status < 0) return temporary_error("write", path, status);
  return {};
}

// The child's whole environment: no variable that adds include paths, options or languages, and no
// compiler cache in between, which would keep what it compiles outside of ours.
std::vector<std::string> clean_environment(const std::string& directory) {
  std::vector<std::string> environment = {"LC_ALL=C", "TMPDIR=" + directory, "CCACHE_DISABLE=1"};
  for (const char* name : {"PATH", "HOME", "LD_LIBRARY_PATH"})
    if (const std::string value = environment_variable(name); !value.empty())
      environment.push_back(cat(name, "=", value));
  return environment;
}

Result<ProcessResult> run_compiler(std::vector<std::string> arguments,
                                   const std::string& directory) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.directory = directory;
  request.environment = clean_environment(directory);
  return run_process(request);
}

// What a compiler that failed says of its source; or what it lacked, room for its files or a
// process to start its parts in, of which it speaks in words alone: then the source is not at
// fault.
Error compile_error(const Source& source, const Target& target, std::string_view compiler,
                    std::string_view errors, const std::string& directory) {
  const auto lacks = [&](int code) { return errors.find(errno_text(code)) != errors.npos; };
  const std::string doing = cat("compile ", source.name);
  for (const int code : {ENOSPC, EDQUOT})
    if (lacks(code)) return temporary_error(cat(doing, " in"), directory, -code);
  for (const int code : {EAGAIN, ENOMEM})
    if (lacks(code))
      return {ErrorCode::io_error, cat("cannot ", doing, ": ", errno_text(code)), kMoreProcesses};
  return rejected_source(source, target, compiler, errors);
}

// The text as it is compiled, under the source's own name in messages from the first line on. An
// assembler reads files that no preprocessor sees, so there is no word for it, pasted or not.
std::string named_text(const Source& source) {
  const bool plain = source.name.find_first_of("\"\\\n\r") == std::string::npos;
  return cat("#pragma GCC poison asm __asm __asm__\n#line 1 \"", plain ? source.name : "source.cu",
             "\"\n", source.text);
}

// Not the name that messages show: compilers would print this file's lines by that one's numbers.
constexpr const char* kTextFile = "rendered.cpp";

class HostCompiler final : public Compiler {
 public:
  HostCompiler(std::string program, std::string version_line, std::string identity,
               std::string sanitizer, std::string arithmetic)
      : program_(std::move(program)),
        version_line_(std::move(version_line)),
        identity_(std::move(identity)),
        sanitizer_(std::move(sanitizer)),
        arithmetic_(std::move(arithmetic)) {}

  const std::string& identity() const override { return identity_; }
  const std::string& path() const override { return program_; }
  std::string description() const override { return cat(version_line_, " (", program_, ")"); }
  Result<void> accepts(const Target& target) const override;
  Result<Artifact> compile(const Source& source, const Target& target) override;

 private:
  std::vector<std::string> arguments(const Source& source, const Target& target,
                                     const std::string& directory) const;

  const std::string program_, version_line_, identity_, sanitizer_, arithmetic_;
};

Result<void> HostCompiler::accepts(const Target& target) const {
  if (!target.is_host())
    return Error{ErrorCode::target_not_supported,
                 cat("the host's C++ compiler does not build for ", target.name()), "use NVRTC"};
#if !defined(__x86_64__)
  if (target.host_level > 1)
    return Error{ErrorCode::target_not_supported,
                 cat(target.name(), " names an instruction set of x86-64, not of this machine"),
                 "use the target host"};
#endif
  return {};
}

// The compiler runs inside the directory and sees no other name of it: nothing of where it is gets
// into the object, a sanitizer's notes included.
std::vector<std::string> HostCompiler::arguments(const Source& source, const Target& target,
                                                 const std::string& directory) const {
  const bool plain = source.build == BuildKind::plain;
  std::vector<std::string> arguments = {program_};
  for (std::string& option : host_options(target, sanitizer_, source.build))
    arguments.push_back(std::move(option));
  for (const char* option :
       {"-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function", "-Wno-unused-const-variable",
        "-Wno-attributes", "-fdiagnostics-color=never", "-nostdinc", "-Wl,--build-id=none",
        "-Wl,--version-script=exports"})
    arguments.push_back(option);
  if (!plain) arguments.push_back(cat("-fdebug-prefix-map=", directory, "=."));
  // With `exchange none` threads have the stack of who launches. A sanitizer's frames are larger.
  const bool clang = !version_line_.starts_with("g++ ");
  for (std::string& option : listing_options(clang)) arguments.push_back(std::move(option));
  if (sanitizer_.empty() && source.text.find("diecast::host_run_none(") == source.text.npos) {
    arguments.push_back(cat(clang ? "-W" : "-Werror=", "frame-larger-than=", kLargestFrame));
    if (clang) arguments.emplace_back("-Werror=frame-larger-than");
  }
  for (const char* argument : {"-o", "kernel.so", kTextFile}) arguments.push_back(argument);
  // A sanitizer's reports want the names, and it has a library of its own. Kernels are C++ without
  // a C++ library: no start files, and half the time to link.
  if (sanitizer_.empty()) {
    if (plain) arguments.emplace_back("-Wl,--strip-all");
    for (const char* argument : {"-nostdlib", arithmetic_.c_str(), "-lm", "-lc"})
      arguments.push_back(argument);
  }
  return arguments;
}

Result<Artifact> HostCompiler::compile(const Source& source, const Target& target) {
  DIECAST_CHECK(accepts(target));
  DIECAST_CHECK(check_complete(source));
  const auto start = std::chrono::steady_clock::now();
  DIECAST_TRY(const PrivateDirectory directory, PrivateDirectory::make());
  DIECAST_CHECK(write_new_file(directory.file(kTextFile), named_text(source)));
  DIECAST_CHECK(write_new_file(directory.file("exports"),
                               cat("{ global: ", source.symbol, "; local: *; };\n")));
  DIECAST_TRY(const ProcessResult result,
              run_compiler(arguments(source, target, directory.path()), directory.path()));
  const std::string log = without_drawn_names(result.errors, directory.path());
  if (result.exit_code != 0)
    return compile_error(source, target, version_line_, log, directory.path());
  DIECAST_CHECK(opened_nothing_else(source, directory, kTextFile));

  Artifact artifact;
  DIECAST_TRY(artifact.payload,
              read_file(system_files(), directory.file("kernel.so"), kObjectLimit));
  if (auto checked = check_shared_object(artifact.payload, source.symbol); !checked)
    return Error{
        ErrorCode::compile_failed,
        cat(source.name, " for ", target.name(), ": the object of ", version_line_, " is ",
            checked.error().what),
        cat("declare the kernel ", source.symbol, " in ", source.name, " with DIECAST_KERNEL")};
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  artifact.kind = Artifact::Kind::shared_object;
  artifact.target = target;
  artifact.symbol = source.symbol;
  artifact.compiler = identity_;
  artifact.compile_ms = elapsed.count();
  artifact.log = clean_log(log);
  return artifact;
}

// "12.2.0" of "g++ (Debian 12.2.0-14) 12.2.0" and of "clang version 12.2.0": the last word that is
// a version by its look.
std::string version_in(std::string_view line) {
  std::string version = "unknown";
  for (const std::string_view word : words(line))
    if (word.find_first_not_of("0123456789.") == std::string_view::npos &&
        word.find('.') != std::string_view::npos)
      version = word;
  return version;
}

// Its first word is the name it was called by, which says nothing: c++ and g++ are one compiler.
std::string without_program_name(std::string_view line, bool clang) {
  return std::string(clang ? line : trim(line.substr(std::min(line.find(' '), line.size()))));
}

std::string sanitizer_suffix(std::string sanitizer) {
  if (sanitizer.empty()) return {};
  for (char& c : sanitizer)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '.';
  return "-" + sanitizer;
}

// A clang's library of what is no instruction, as a division of 128 bits: libgcc, or where there is
// no GCC its own. Errors: io_error, where it cannot be asked.
Result<std::string> arithmetic_of_clang(const std::string& program) {
  for (const char* kind : {"--rtlib=libgcc", "--rtlib=compiler-rt"}) {
    const auto told = run_compiler({program, kind, "-print-libgcc-file-name"}, "/");
    if (!told && told.error().code == ErrorCode::io_error) return told.error();
    if (!told) continue;
    const std::string path(trim(told->output));  // a bare name where there is none
    if (path.starts_with('/') && ::access(path.c_str(), R_OK) == 0) return path;
  }
  return std::string("-lgcc");
}

// What `program --version` and a dry run say, as a compiler; none if it is none. Errors: io_error,
// where no program can be asked.
Result<std::shared_ptr<Compiler>> probe(const std::string& program, const HostCxxOptions& options,
                                        std::vector<std::string>& tried) {
  const auto version = run_compiler({program, "--version"}, "/");
  const auto dry =
      run_compiler({program, "-###", "-x", "c++", "-shared", "-o", "kernel.so", "/dev/null"}, "/");
  for (const auto* asked : {&version, &dry})
    if (!*asked && asked->error().code == ErrorCode::io_error) return asked->error();
  const DryRun parts = dry ? read_dry_run(dry->errors) : DryRun();
  if (!version || version->exit_code != 0 || parts.target.empty()) {
    tried.push_back(cat(program, ": it does not tell its version"));
    return std::shared_ptr<Compiler>();
  }
  const std::string_view line = trim(split(version->output, '\n').front());
  const bool clang = line.find("clang") != std::string_view::npos;
  const std::string told = clean_log(without_program_name(line, clang), 200);
  Record record;
  record.add(1, told).add(2, parts.target).add(3, compiler_parts(program, parts).bytes());
  if (!options.id.empty()) record.add(4, options.id);
  const std::string identity =
      cat(clang ? "clangxx-" : "gxx-", version_in(told), "-", record.digest().hex().substr(0, 8),
          sanitizer_suffix(options.sanitizer));
  std::string arithmetic = "-lgcc";
  if (clang) {
    DIECAST_TRY(arithmetic, arithmetic_of_clang(program));
  }
  return std::shared_ptr<Compiler>(std::make_shared<HostCompiler>(
      program, cat(clang ? "" : "g++ ", told), identity, options.sanitizer, arithmetic));
}

}  // namespace

HostCxxOptions HostCxxOptions::from_environment() {
  return {environment_variable("DIECAST_CXX"), built_sanitizer(),
          environment_variable("DIECAST_CXX_ID")};
}

Result<std::shared_ptr<Compiler>> open_host_cxx(const HostCxxOptions& options) {
  std::vector<std::string> names = {"c++", "g++", "clang++"};
#if defined(__clang__)
  // A sanitizer's run-time library must be the one that this library was built with.
  if (!options.sanitizer.empty()) names = {"clang++", "c++", "g++"};
#endif
  if (!options.compiler.empty()) names = {options.compiler};
  std::vector<std::string> tried;
  for (const std::string& name : names) {
    const std::string program = find_program(name);
    if (program.empty()) {
      tried.push_back(cat(name, ": no such program in PATH"));
      continue;
    }
    DIECAST_TRY(const auto compiler, probe(program, options, tried));
    if (compiler) return compiler;
  }
  return Error{ErrorCode::compiler_unavailable,
               cat("no C++ compiler for the host was found\n", join(tried, "\n")),
               options.compiler.empty()
                   ? "apt-get install g++, or name a compiler in DIECAST_CXX"
                   : "correct DIECAST_CXX, or unset it to use c++, g++ or clang++ of PATH"};
}

}  // namespace diecast
