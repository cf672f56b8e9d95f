// See thread.h.
#include <diecast/base/thread.h>
#include <signal.h>

#include <utility>

namespace diecast {
namespace {

// A thread begins with the signals blocked that its maker has blocked then.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t sent;
    sigfillset(&sent);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
      sigdelset(&sent, fault);
    pthread_sigmask(SIG_BLOCK, &sent, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  return std::thread(std::move(work));
}

}  // namespace diecast
