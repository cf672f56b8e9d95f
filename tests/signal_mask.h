// Which signals a thread takes, for tests of threads that leave the application's to it.
#pragma once

#include <signal.h>

namespace diecast::testing {

inline bool takes(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 0;
}

}  // namespace diecast::testing
