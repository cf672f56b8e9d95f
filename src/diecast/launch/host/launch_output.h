// What the kernels of one launch print on the host: standard output, up to a bound.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>

namespace diecast {

// Any number of threads may print. Each call's text arrives whole, in whatever order.
class LaunchOutput {
 public:
  // What a GPU's buffer takes before it loses what was printed.
  static constexpr std::int64_t kMostBytes = 1 << 20;
  static constexpr std::size_t kMostOfOneCall = 1024;  // the rest is cut off

  // As vprintf.
  int print(const char* format, std::va_list arguments);
  // Once the launch is over: tells how many calls were lost, and sends on what was printed.
  void end(const std::string& kernel);

 private:
  std::atomic<std::int64_t> left_{kMostBytes};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace diecast
