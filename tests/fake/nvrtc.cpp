// A fake libnvrtc: NVRTC's functions, without a compiler, doing what nvrtc_script.h describes.
#include <diecast/compile/nvrtc_api.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fake/cubin.h"

using diecast::nvrtc::Program;
using diecast::nvrtc::Status;

struct _nvrtcProgram {
  std::string source, name, log, cubin, ptx;
};

namespace {

std::atomic<int> running = 0;

const char* script(const char* word) {
  return std::getenv((std::string("DIECAST_FAKE_NVRTC_") + word).c_str());
}

std::string script_text(const char* word, const char* otherwise) {
  const char* value = script(word);
  return value ? value : otherwise;
}

std::size_t script_number(const char* word, std::size_t otherwise) {
  const char* value = script(word);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

// The scripted result of a function.
Status scripted(const char* function) {
  std::istringstream entries(script_text("FAIL", ""));
  const std::string start = std::string(function) + "=";
  for (std::string entry; entries >> entry;)
    if (entry.compare(0, start.size(), start) == 0)
      return static_cast<Status>(std::atoi(entry.c_str() + start.size()));
  return diecast::nvrtc::kSuccess;
}

int version(int part) {
  const std::string text = script_text("VERSION", "13.0");
  return std::atoi(part == 0 ? text.c_str() : text.c_str() + text.find('.') + 1);
}

std::vector<int> archs() {
  const int number = version(0) * 10 + version(1);
  const std::string words =
      script_text("ARCHS", number >= 130   ? "75 80 86 87 88 89 90 100 103 110 120 121"
                           : number >= 129 ? "75 80 86 87 89 90 100 103 120 121"
                           : number >= 128 ? "75 80 86 87 89 90 100 120"
                                           : "50 75 80 86 87 89 90");
  // No stream: a library with its own libstdc++, closed and opened again, has no locale for one.
  std::vector<int> out;
  char* next = nullptr;
  for (const char* at = words.c_str();; at = next) {
    const long arch = std::strtol(at, &next, 10);
    if (next == at) return out;
    out.push_back(static_cast<int>(arch));
  }
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The names before the first '(' that is not an attribute's, behind each `__global__ void`.
std::vector<std::string> kernels(std::string_view source) {
  constexpr std::string_view kStart = "extern \"C\" __global__ void";
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = source.find(kStart, at)) != std::string_view::npos;) {
    at += kStart.size();
    for (;;) {
      while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at]))) ++at;
      std::size_t end = at;
      while (end < source.size() && is_name(source[end])) ++end;
      const std::string_view word = source.substr(at, end - at);
      if (word != "__launch_bounds__" && word != "__cluster_dims__") {
        names.emplace_back(word);
        break;
      }
      at = std::min(source.find(')', end), source.size() - 1) + 1;
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::uint64_t fnv(std::string_view text, std::uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::string report(const std::vector<std::string>& names, const std::string& arch) {
  std::string out;
  for (const std::string& name : names)
    out += "ptxas info    : Compiling entry function '" + name + "' for '" + arch +
           "'\nptxas info    : Function properties for " + name + "\nptxas         .     " +
           script_text("STACK", "0") + " bytes stack frame, " + script_text("SPILL", "0") +
           " bytes spill stores, 0 bytes spill loads\nptxas info    : Used " +
           script_text("REGISTERS", "32") + " registers, used 0 barriers, " +
           script_text("SHARED", "0") + " bytes smem\n";
  return out;
}

void write_journal(const std::string& line) {
  const char* path = script("JOURNAL");
  if (path == nullptr) return;
  // One write with O_APPEND: lines of several processes never mix.
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, line.data(), line.size()) < 0) std::abort();
  ::close(file);
}

// What a bad template can make of a compile, before it says anything.
void misbehave() {
  std::this_thread::sleep_for(std::chrono::milliseconds(script_number("SLEEP_MS", 0)));
  constexpr std::size_t kPiece = 16u << 20;
  std::vector<std::string> taken;
  while (taken.size() * kPiece < script_number("ALLOCATE", 0)) taken.emplace_back(kPiece, 'x');
  if (!script("CRASH")) return;
  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's own would end it by an exit code
  std::raise(SIGSEGV);
}

void build(Program program, const std::string& options, const std::string& arch) {
  diecast::testing::FakeCubin cubin;
  cubin.symbols = kernels(program->source);
  program->log = script_text("LOG", "") + report(cubin.symbols, arch);
  if (script("SYMBOL")) cubin.symbols = {script("SYMBOL")};
  cubin.cc = static_cast<int>(
      script_number("CC", arch.size() > 3 ? std::strtoull(arch.c_str() + 3, nullptr, 10) : 0));
  cubin.seed = fnv(program->source, fnv(program->name, fnv(options + script_text("SEED", ""))));
  cubin.cuda13 = version(0) >= 13;
  program->cubin = script("CUBIN") ? script("CUBIN") : cubin.bytes();
  program->ptx = ".target " + arch + "\n";
  for (const std::string& name : cubin.symbols) program->ptx += ".visible .entry " + name + "()\n";
}

}  // namespace

#define FAKE(function) \
  if (const Status status = scripted(#function); status != diecast::nvrtc::kSuccess) return status

extern "C" {

const char* nvrtcGetErrorString(Status status) {
  switch (static_cast<unsigned>(status)) {
    case 0:
      return "NVRTC_SUCCESS";
    case 1:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case 6:
      return "NVRTC_ERROR_COMPILATION";
    case 7:
      return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    default:
      return "NVRTC_ERROR unknown";
  }
}

Status nvrtcVersion(int* major, int* minor) {
  FAKE(nvrtcVersion);
  void* const taken = std::malloc(script_number("START_BYTES", 1));
  if (taken == nullptr) return diecast::nvrtc::kOutOfMemory;
  std::free(taken);
  *major = version(0);
  *minor = version(1);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetNumSupportedArchs(int* count) {
  FAKE(nvrtcGetNumSupportedArchs);
  *count = static_cast<int>(archs().size());
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetSupportedArchs(int* out) {
  FAKE(nvrtcGetSupportedArchs);
  const std::vector<int> all = archs();
  std::copy(all.begin(), all.end(), out);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcCreateProgram(Program* program, const char* source, const char* name, int,
                          const char* const*, const char* const*) {
  FAKE(nvrtcCreateProgram);
  *program = new _nvrtcProgram{source, name, {}, {}, {}};
  return diecast::nvrtc::kSuccess;
}

Status nvrtcDestroyProgram(Program* program) {
  delete *program;
  *program = nullptr;
  return diecast::nvrtc::kSuccess;
}

Status nvrtcCompileProgram(Program program, int count, const char* const* options) {
  constexpr std::string_view kArch = "--gpu-architecture=";
  std::string all, arch;
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    if (i > 0) all += ' ';
    all += option;
    if (option.substr(0, kArch.size()) == kArch) arch = option.substr(kArch.size());
  }
  const int now = ++running;
  write_journal("pid=" + std::to_string(::getpid()) + " running=" + std::to_string(now) +
                " name=" + program->name + " options=" + all + "\n");
  misbehave();
  --running;
  if (script("FAIL")) program->log = script_text("LOG", "");
  FAKE(nvrtcCompileProgram);
  build(program, all, arch);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetCUBINSize(Program program, std::size_t* size) {
  FAKE(nvrtcGetCUBINSize);
  *size = script_number("CUBIN_SIZE", program->cubin.size());
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetCUBIN(Program program, char* out) {
  FAKE(nvrtcGetCUBIN);
  const std::size_t size = script_number("CUBIN_SIZE", program->cubin.size());
  std::copy_n(program->cubin.data(), std::min(size, program->cubin.size()), out);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetPTXSize(Program program, std::size_t* size) {
  FAKE(nvrtcGetPTXSize);
  *size = program->ptx.size() + 1;
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetPTX(Program program, char* out) {
  FAKE(nvrtcGetPTX);
  std::copy_n(program->ptx.c_str(), program->ptx.size() + 1, out);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetProgramLogSize(Program program, std::size_t* size) {
  FAKE(nvrtcGetProgramLogSize);
  *size = script_number("LOG_SIZE", program->log.size() + 1);
  return diecast::nvrtc::kSuccess;
}

Status nvrtcGetProgramLog(Program program, char* out) {
  FAKE(nvrtcGetProgramLog);
  const std::size_t size = script_number("LOG_SIZE", program->log.size() + 1);
  std::string text = program->log;
  text.resize(size, script("LOG_ENDLESS") ? 'x' : '\0');
  if (script("LOG_ENDLESS") && size > 0) text.back() = 'x';
  std::copy_n(text.data(), size, out);
  return diecast::nvrtc::kSuccess;
}

}  // extern "C"
