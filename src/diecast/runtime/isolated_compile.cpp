// Both sides of an isolated compile: see isolated_compile.h.
#include <diecast/base/private_directory.h>
#include <diecast/base/process.h>
#include <diecast/base/sanitizers.h>
#include <diecast/base/text.h>
#include <diecast/cache/entry.h>
#include <diecast/runtime/isolated_compile.h>
#include <unistd.h>

#include <optional>

namespace diecast {
namespace {

enum class Tag : std::uint16_t {
  name = 1,
  symbol,
  text,
  target,
  identity,
  temporary,
  build,
  code,
  what,
  fix
};
constexpr std::uint16_t tag(Tag value) { return static_cast<std::uint16_t>(value); }
constexpr int kRefused = 3;  // exit code: the answer is an error

// What both sides know of the artifact: its entry is checked against this.
ArtifactKey agreed_key(const Source& source, const Target& target) {
  return make_key(
      KeyFields{source.symbol, source.text, code_options(target, source.build), target.name(),
                target.is_host() ? Artifact::Kind::shared_object : Artifact::Kind::cubin, ""});
}

std::string text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Variables by which a user could change what the compiler makes behind the key's back stay here;
// those that its identity tells of go with it.
std::vector<std::string> environment_for(const RuntimeOptions& options, const Target& target,
                                         const Compiler& compiler) {
  std::vector<std::string> out;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (changes_nvrtc_code(text.substr(0, text.find('=')))) {
      out.emplace_back(text);
      continue;
    }
    if (begins("NVRTC_") || begins("EDG_") || begins("LLVM_") || begins("NVVM_") ||
        begins("LIBNVVM_") || begins("NV_NVVM_") || begins("DIECAST_NVRTC=") ||
        begins("DIECAST_CXX=") || begins("DIECAST_CXX_ID=")) {
      continue;
    }
    out.emplace_back(text);
  }
  out.push_back(cat(target.is_host() ? "DIECAST_CXX=" : "DIECAST_NVRTC=", compiler.path()));
  out.push_back("DIECAST_CXX_ID=" + options.host_cxx.id);
  return out;
}

std::string refusal(const Error& error) {
  Record record;
  record.add(tag(Tag::code), static_cast<std::uint64_t>(error.code))
      .add(tag(Tag::what), error.what)
      .add(tag(Tag::fix), error.fix);
  return text_of(record.bytes());
}

Error read_refusal(std::string_view bytes, Error otherwise) {
  const auto fields = Record::parse(as_bytes(bytes));
  if (!fields || fields->size() != 3) return otherwise;
  const auto code = Record::number((*fields)[0]);
  if (!code || *code > static_cast<std::uint64_t>(ErrorCode::internal)) return otherwise;
  return {static_cast<ErrorCode>(*code), std::string((*fields)[1].text()),
          std::string((*fields)[2].text())};
}

Error ended(const Source& source, const Target& target, const ProcessResult& result) {
  const int signal = result.exit_code - 128;
  return {ErrorCode::process_failed,
          cat("the compiler of ", source.name, " for ", target.name(), " ended ",
              signal > 0 ? cat("by signal ", signal) : cat("with exit code ", result.exit_code),
              result.errors.empty() ? "" : cat(": ", quote(trim(result.errors)))),
          "`diecast compile` compiles it without limits and says more; more memory may help "
          "(--memory-limit)"};
}

// A compiler that says it has no memory means the limit it was given.
Error with_limit(Error error, std::uint64_t memory) {
  if (error.what.find("out of memory") == std::string::npos || memory == 0) return error;
  error.what += cat("\nit had ", human_bytes(memory), " of address space");
  error.fix = cat("allow it more memory (--memory-limit), or ", error.fix);
  return error;
}

Result<Artifact> compile_here(const RuntimeOptions& options, const Source& source,
                              const Target& target, std::string_view identity) {
  const auto compiler =
      target.is_host() ? open_host_cxx(options.host_cxx) : open_nvrtc(options.nvrtc);
  if (!compiler && compiler.error().code == ErrorCode::io_error) return compiler.error();
  if (!compiler) {  // where it was found it opens: only the limits are new here
    return Error{ErrorCode::process_failed,
                 cat("the compiler does not start within its limits: ", compiler.error().what),
                 "allow it more memory (--memory-limit; 8G if none is given)"};
  }
  if ((*compiler)->identity() != identity) {
    return Error{
        ErrorCode::compiler_unavailable,
        cat("the isolated compiler is ", (*compiler)->identity(), ", wanted is ", identity),
        "its file was replaced while this process ran: start the process anew"};
  }
  return (*compiler)->compile(source, target);
}

}  // namespace

Result<Artifact> compile_isolated(const RuntimeOptions& options, const Source& source,
                                  const Target& target, const Compiler& compiler) {
  const IsolatedCompiles& isolated = options.isolated;
  Record request;
  request.add(tag(Tag::name), source.name)
      .add(tag(Tag::symbol), source.symbol)
      .add(tag(Tag::text), source.text)
      .add(tag(Tag::target), target.name())
      .add(tag(Tag::identity), compiler.identity());
  ProcessRequest process;
  process.arguments = {isolated.program, std::string(kIsolatedCommand)};
  process.environment = environment_for(options, target, compiler);
  std::optional<PrivateDirectory> temporary;
  if (target.is_host()) {  // ended at its limit a compiler leaves files: here they go
    DIECAST_TRY(auto made, PrivateDirectory::make());
    temporary.emplace(std::move(made));
    std::erase_if(process.environment, [](const auto& set) { return set.starts_with("TMPDIR="); });
    process.environment.push_back("TMPDIR=" + temporary->path());
  }
  request.add(tag(Tag::temporary), temporary ? temporary->path() : std::string())
      .add(tag(Tag::build), build_kind_word(source.build));
  process.input = text_of(request.bytes());
  process.directory = "/";
  process.time_limit = isolated.time;
#if !defined(DIECAST_ASAN) && !defined(DIECAST_TSAN)  // which reserve terabytes of address space
  process.memory_limit = isolated.memory;
#endif
  process.output_limit = kEntryLimit;
  auto result = run_process(process);
  if (!result && result.error().code == ErrorCode::timed_out) {
    return Error{ErrorCode::timed_out,
                 cat("compiling ", source.name, " for ", target.name(), " took longer than ",
                     static_cast<double>(isolated.time.count()) / 1000, " s and was ended"),
                 "look for an endless loop in the template, or allow more (--time-limit)"};
  }
  if (!result) return result.error();
  const Error failed = ended(source, target, *result);
  if (result->exit_code == kRefused)
    return with_limit(read_refusal(result->output, failed), isolated.memory);
  if (result->exit_code != 0) return failed;
  const ArtifactKey key = agreed_key(source, target);
  DecodedEntry decoded = decode_entry(as_bytes(result->output), &key);
  if (decoded.fault != EntryFault::none) return failed;
  return std::move(decoded.artifact);
}

std::string temporary_of(std::string_view request) {
  const auto fields = Record::parse(as_bytes(request));
  return fields && fields->size() == 7 ? std::string((*fields)[tag(Tag::temporary) - 1u].text())
                                       : std::string();
}

IsolatedAnswer answer_isolated(const RuntimeOptions& options, std::string_view request) {
  const auto answer = [&]() -> Result<Bytes> {
    const auto fields = Record::parse(as_bytes(request));
    if (!fields || fields->size() != 7) {
      return Error{ErrorCode::invalid_argument, "this is no request to compile",
                   "`diecast compile` is the command for people"};
    }
    const auto text = [&](Tag wanted) { return (*fields)[tag(wanted) - 1u].text(); };
    DIECAST_TRY(const BuildKind build, parse_build_kind(text(Tag::build)));
    const Source source{std::string(text(Tag::name)), std::string(text(Tag::symbol)),
                        std::string(text(Tag::text)), build};
    DIECAST_TRY(const Target target, Target::parse(text(Tag::target)));
    DIECAST_TRY(const Artifact artifact,
                compile_here(options, source, target, text(Tag::identity)));
    return encode_entry(agreed_key(source, target), artifact);
  };
  const Result<Bytes> entry = answer();
  if (!entry) return {refusal(entry.error()), kRefused};
  return {text_of(*entry), 0};
}

}  // namespace diecast
