// NCCL's functions as the fake has them; see nccl_script.h.
#include "fake/nccl_script.h"

using diecast::testing::NcclCall;
using diecast::testing::NcclScript;

namespace {

NcclScript* script() {
  static NcclScript script;
  return &script;
}

int result_of(const std::string& function) {
  const auto found = script()->fail.find(function);
  return found == script()->fail.end() ? 0 : found->second;
}

int record(NcclCall call) {
  const int result = result_of(call.function);
  script()->calls.push_back(std::move(call));
  if (script()->on_call) script()->on_call(script()->calls.back());
  return result;
}

}  // namespace

extern "C" {

NcclScript* fake_nccl_script() { return script(); }

const char* ncclGetErrorString(int result) {
  return result == 2 ? "unhandled system error" : "no error";
}
int ncclCommCount(void*, int* count) {
  *count = script()->size;
  return result_of("ncclCommCount");
}
int ncclCommUserRank(void*, int* rank) {
  *rank = script()->rank;
  return result_of("ncclCommUserRank");
}
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, void* comm,
                  void* stream) {
  return record({"ncclAllReduce", send, receive, count, type, op, -1, comm, stream});
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                  void* comm, void* stream) {
  return record({"ncclBroadcast", send, receive, count, type, -1, root, comm, stream});
}
int ncclGroupStart() { return record({"ncclGroupStart"}); }
int ncclGroupEnd() { return record({"ncclGroupEnd"}); }
}
