// Taking Python's lock again, and the end of the process; see python.h.
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "python.h"

namespace diecast::python {
namespace {

std::atomic<bool> ending = false;
std::atomic<int> taking = 0;  // threads that wait for the lock in take_gil()
pthread_t ender{};            // the thread that ends the process: it goes on
// None of them is in a forked child, which would wait for them as it ends.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { taking = 0; });

}  // namespace

void take_gil(PyThreadState* saved) {
  ++taking;
  if (ending && pthread_equal(pthread_self(), ender) == 0) {
    --taking;
    for (;;) ::pause();
  }
  PyEval_RestoreThread(saved);
  --taking;
}

PyObject* stop_threads(PyObject*, PyObject*) {
  ender = pthread_self();
  ending = true;
  PyThreadState* const saved = PyEval_SaveThread();
  for (int i = 0; i < 1000 && taking > 0; ++i) ::usleep(1000);
  PyEval_RestoreThread(saved);
  Py_RETURN_NONE;
}

}  // namespace diecast::python
