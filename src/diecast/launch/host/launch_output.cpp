// See launch_output.h.
#include <diecast/launch/host/launch_output.h>

#include <algorithm>
#include <cstdio>

namespace diecast {

int LaunchOutput::print(const char* format, std::va_list arguments) {
  char text[kMostOfOneCall];
  const int wanted = std::vsnprintf(text, sizeof text, format, arguments);
  if (wanted < 0) return wanted;
  const auto size = std::min(static_cast<std::size_t>(wanted), sizeof text - 1);
  const auto bytes = static_cast<std::int64_t>(size);
  if (left_.fetch_sub(bytes, std::memory_order_relaxed) >= bytes)
    std::fwrite(text, 1, size, stdout);
  else
    lost_.fetch_add(1, std::memory_order_relaxed);
  return wanted;
}

void LaunchOutput::end(const std::string& kernel) {
  if (left_.load(std::memory_order_relaxed) == kMostBytes) return;
  if (const auto lost = lost_.load(std::memory_order_relaxed); lost > 0)
    std::printf("[%s: beyond %lld bytes of a launch, %llu calls of printf were lost]\n",
                kernel.c_str(), static_cast<long long>(kMostBytes),
                static_cast<unsigned long long>(lost));
  std::fflush(stdout);
}

}  // namespace diecast
