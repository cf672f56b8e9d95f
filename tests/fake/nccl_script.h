// The fake NCCL of the tests: libfake_nccl.so (nccl.cpp) has the functions that the library uses;
// this header is how a test says what a communicator is and what fails, and sees what was called.
// It moves no bytes unless `on_call` does. Any address is a communicator.
#pragma once

#include <diecast/base/library.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace diecast::testing {

struct NcclCall {
  std::string function;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  int type = -1, op = -1, root = -1;
  void* comm = nullptr;
  void* stream = nullptr;
};

struct NcclScript {
  int rank = 0, size = 1;
  std::map<std::string, int> fail;  // what every call of a function returns
  std::vector<NcclCall> calls;      // of those that move bytes or group them
  std::function<void(const NcclCall&)> on_call;
};

class FakeNccl {
 public:
  FakeNccl() : library_(Library::open(path()).value()) { *script() = {}; }
  static std::string path() { return DIECAST_FAKE_DIR "/libfake_nccl.so"; }
  NcclScript* operator->() const { return script(); }

 private:
  NcclScript* script() const { return library_.function<NcclScript*()>("fake_nccl_script")(); }
  Library library_;
};

}  // namespace diecast::testing
