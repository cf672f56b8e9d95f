// Calls of NVRTC about one program; see nvrtc_program.h.
#include <diecast/base/text.h>
#include <diecast/base/thread.h>
#include <diecast/compile/nvrtc_program.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace diecast::nvrtc {
namespace {

constexpr std::size_t kMost = 64u << 20;  // bytes of a cubin or a PTX
constexpr std::size_t kRawLogLimit = 16u << 20;

}  // namespace

OpenProgram::~OpenProgram() {
  if (handle_) api_.call.nvrtcDestroyProgram(&handle_);
}

Status OpenProgram::create(const Source& source) {
  return api_.call.nvrtcCreateProgram(&handle_, source.text.c_str(), source.name.c_str(), 0,
                                      nullptr, nullptr);
}

Status OpenProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return api_.call.nvrtcCompileProgram(handle_, static_cast<int>(pointers.size()), pointers.data());
}

Status OpenProgram::compile_at_root(const std::vector<std::string>& options) {
  Status status = kOutOfMemory;
  const auto work = [&] {
    // Where a container forbids it, line info names the folder of this process.
    const bool alone = ::unshare(CLONE_FS) == 0;
    if (alone && ::chdir("/") != 0) return;
    status = compile(options);
  };
  try {
    start_thread(work).join();
  } catch (const std::exception&) {  // no thread or memory is left: as it stands in `status`
  }
  return status;
}

std::string OpenProgram::log() const {
  std::size_t size = 0;
  if (api_.call.nvrtcGetProgramLogSize(handle_, &size) != kSuccess || size == 0) return {};
  if (size > kRawLogLimit) return cat("[a log of ", human_bytes(size), " is left out]");
  std::string text(size + 1, '\0');  // the added byte ends a log that NVRTC does not end itself
  if (api_.call.nvrtcGetProgramLog(handle_, text.data()) != kSuccess) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

Result<Bytes> OpenProgram::cubin() const {
  std::size_t size = 0;
  Status status = api_.call.nvrtcGetCUBINSize(handle_, &size);
  if (status != kSuccess) return lost("nvrtcGetCUBINSize", status);
  if (size == 0 || size > kMost) return strange_size("cubin", size);
  Bytes bytes(size);
  status = api_.call.nvrtcGetCUBIN(handle_, reinterpret_cast<char*>(bytes.data()));
  if (status != kSuccess) return lost("nvrtcGetCUBIN", status);
  return bytes;
}

Result<std::string> OpenProgram::ptx() const {
  std::size_t size = 0;
  Status status = api_.call.nvrtcGetPTXSize(handle_, &size);
  if (status != kSuccess) return lost("nvrtcGetPTXSize", status);
  if (size == 0 || size > kMost) return strange_size("PTX", size);
  std::string text(size, '\0');
  status = api_.call.nvrtcGetPTX(handle_, text.data());
  if (status != kSuccess) return lost("nvrtcGetPTX", status);
  text.resize(std::min(text.find('\0'), size));
  return text;
}

Error OpenProgram::lost(std::string_view function, Status status) const {
  return {ErrorCode::internal,
          cat("NVRTC ", api_.version(), " compiled, then ", function, " gave ",
              api_.status_text(status)),
          "try another version of NVRTC through DIECAST_NVRTC"};
}

Error OpenProgram::strange_size(std::string_view what, std::size_t size) const {
  return {ErrorCode::internal,
          cat("NVRTC ", api_.version(), " compiled, then named a ", what, " of ", size, " bytes"),
          "try another version of NVRTC through DIECAST_NVRTC"};
}

}  // namespace diecast::nvrtc
