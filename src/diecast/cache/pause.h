// Leaves a failing disk alone for a while: a full disk for a minute, one that may not be written
// for good, any other trouble for a minute after three failures in a row. Thread-safe.
#pragma once

#include <diecast/base/text.h>
#include <errno.h>

#include <atomic>
#include <cstdint>

namespace diecast {

class Pause {
 public:
  // Wall clock; a clock that was set back ends the pause.
  bool active(std::int64_t now) const {
    const std::int64_t left = until_ - now;
    return for_good_ || (left > 0 && left <= kSeconds);
  }

  void success() { in_a_row_ = 0; }
  void stop() { for_good_ = true; }
  void failure(int negative_errno, std::int64_t now) {
    // Too many open files says nothing about the disk.
    if (lacks_descriptors(-negative_errno)) return;
    const bool full = negative_errno == -ENOSPC || negative_errno == -EDQUOT;
    if (!full && ++in_a_row_ < kFailures) return;
    in_a_row_ = 0;
    until_ = now + kSeconds;
  }

 private:
  static constexpr std::int64_t kSeconds = 60;
  static constexpr int kFailures = 3;
  std::atomic<bool> for_good_ = false;
  std::atomic<int> in_a_row_ = 0;
  std::atomic<std::int64_t> until_ = 0;
};

}  // namespace diecast
