// Kernels written by hand for tests of the host device: the texts of the device headers and the
// test's own code, compiled by the host's compiler like a rendered source.
#pragma once

#include <diecast/compile/host_cxx.h>
#include <diecast/launch/device.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_directory.h"

namespace diecast::testing {

// The device headers named, without their #include lines, as the renderer writes them.
inline std::string device_headers(const std::vector<std::string>& names) {
  std::string text = "#define DIECAST_CC 0\n#define DIECAST_HOST 1\n";
  for (const std::string& name : names) {
    std::istringstream lines(text_of(std::string(DIECAST_SOURCE_DIR "/templates/device/") + name));
    text += "#line 1 \"diecast/device/" + name + "\"\n";
    for (std::string line; std::getline(lines, line);) {
      text += (line.rfind("#include", 0) == 0 || line.rfind("#pragma once", 0) == 0 ? "" : line);
      text += '\n';
    }
  }
  return text;
}

// HOST_KERNEL(block, sum) { ... } defines the kernel `sum` with `exchange block`;
// argument<T>(p, i) is its parameter number i.
inline constexpr std::string_view kKernelWords = R"(
using namespace diecast;
#define HOST_KERNEL(exchange, name)                                  \
  DIECAST_DEVICE void name##_body(void** p);                         \
  extern "C" void name(diecast::HostBlock* block, void** p) {        \
    diecast::host_run_##exchange(block, [&] { name##_body(p); });    \
  }                                                                  \
  DIECAST_DEVICE void name##_body([[maybe_unused]] void** p)
template <class T>
DIECAST_DEVICE T argument(void** p, int i) { return *static_cast<T*>(p[i]); }
)";

// The kernel `name` of `code`, which becomes test.cu, with the headers of `base` before it. Fails
// the test if it does not compile.
inline Artifact compile_host(std::string_view code, const std::string& name, Target target = {},
                             const std::vector<std::string>& more_headers = {}) {
  Artifact artifact;
  auto compiler = open_host_cxx(HostCxxOptions::from_environment());
  if (!compiler) {
    ADD_FAILURE() << compiler.error().message();
    return artifact;
  }
  std::vector<std::string> headers = {"base/types.h",   "base/host_abi.h", "base/block.h",
                                      "base/atomics.h", "base/floats.h",   "base/integers.h",
                                      "base/lanes.h",   "base/report.h",   "base/vectors.h"};
  headers.insert(headers.end(), more_headers.begin(), more_headers.end());
  Source source{"test.cu", name, device_headers(headers)};
  source.text += kKernelWords;
  source.text += "#line 1 \"test.cu\"\n";
  source.text += code;
  auto compiled = (*compiler)->compile(source, target);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message();
    return artifact;
  }
  EXPECT_EQ(compiled->log, "") << "the device headers compile without a warning";
  return *std::move(compiled);
}

inline std::shared_ptr<ResidentCode> load_kernel(Device& device, std::string_view code_text,
                                                 const std::string& name, Target target = {}) {
  auto code = device.load(compile_host(code_text, name, target), {}, nullptr);
  if (!code) {
    ADD_FAILURE() << code.error().message();
    return nullptr;
  }
  return *code;
}

inline LaunchShape launch_shape(std::uint32_t blocks, std::uint32_t threads,
                                std::uint32_t shared_bytes = 0) {
  LaunchShape shape;
  shape.grid[0] = blocks;
  shape.block[0] = threads;
  shape.shared_bytes = shared_bytes;
  return shape;
}

// Launches with these parameters, which are the kernel's arguments themselves.
template <class... Arguments>
Result<void> launch(Device& device, const ResidentCode& code, const LaunchShape& shape,
                    Arguments... arguments) {
  void* parameters[] = {&arguments..., nullptr};
  return device.launch(code, shape, parameters, Stream{});
}

}  // namespace diecast::testing
