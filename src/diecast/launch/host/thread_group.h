// Who waits for whom among the threads of a block (or of one warp of it), and who may run. Pure
// bookkeeping: the threads themselves are the caller's.
#pragma once

#include <diecast/launch/block_machine.h>

#include <array>
#include <cstdint>
#include <string>

namespace diecast {

class ThreadGroup {
 public:
  static constexpr unsigned kWarp = 32;
  static constexpr unsigned kMaxThreads = 1024;
  static constexpr unsigned kNone = ~0u;

  // All `count` threads may run. Without `barriers` (a group that is one warp of a larger block)
  // a barrier never completes.
  void begin(unsigned count, bool barriers);

  unsigned count() const { return count_; }
  bool all_ended() const { return ended_ == count_; }
  // Takes a thread that may run; kNone if there is none. A warp's lanes come one after another:
  // what they exchange is then in the cache.
  unsigned take();

  // Thread `index` waits. True if it was the last one to come: the wait's result is there, for it
  // and for all that waited with it, and those may run. `wait` must live until then.
  bool arrive(unsigned index, HostWait* wait);
  void end(unsigned index);

  // For when nobody can run: "64 wait at __syncthreads (k.cu:42), 32 have ended".
  std::string where() const;
  // The first thread's wait that is not over; null if all have ended.
  const HostWait* first_wait() const;

 private:
  bool arrive_barrier(unsigned index);
  bool arrive_exchange(unsigned index);
  void complete(unsigned warp, std::uint32_t lanes);

  unsigned count_ = 0, warps_ = 0, ended_ = 0, at_barrier_ = 0;
  unsigned warp_ = 0;  // whose lanes take() gives now
  bool barriers_ = false, barriers_differ_ = false;
  const HostWait* barrier_ = nullptr;  // of the first that arrived
  // One bit a lane, of each warp: exists, may run, waits in an exchange.
  std::array<std::uint32_t, kMaxThreads / kWarp> lanes_, ready_, exchanging_;
  std::array<HostWait*, kMaxThreads> waits_;  // the last one of each thread; null once it has ended
};

// "__syncthreads (k.cu:42)", "a shuffle (k.cu:45, mask 0xffffffff)".
std::string place_of(const HostWait& wait);

}  // namespace diecast
