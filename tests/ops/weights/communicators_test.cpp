// Communicators over NCCL (a fake one) and over callbacks: which calls they make, and what they say
// when one fails.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake/nccl_script.h"

namespace diecast {
namespace {

using testing::FakeNccl;
using testing::NcclCall;

void* const kComm = reinterpret_cast<void*>(0x100);
const Stream kStream{reinterpret_cast<void*>(0x200)};

TEST(NcclCommunicator, KnowsItsRankAndReducesInPlace) {
  FakeNccl nccl;
  nccl->rank = 2;
  nccl->size = 4;
  const auto communicator = nccl_communicator(kComm, FakeNccl::path()).value();
  EXPECT_EQ(communicator->rank(), 2);
  EXPECT_EQ(communicator->size(), 4);
  float values[3];
  communicator->all_reduce_max(values, 3, kStream).value();
  ASSERT_EQ(nccl->calls.size(), 1u);
  const NcclCall& call = nccl->calls[0];
  EXPECT_EQ(call.function, "ncclAllReduce");
  EXPECT_EQ(call.send, values);
  EXPECT_EQ(call.receive, values);
  EXPECT_EQ(call.count, 3u);
  EXPECT_EQ(call.type, 7);  // ncclFloat32
  EXPECT_EQ(call.op, 2);    // ncclMax
  EXPECT_EQ(call.comm, kComm);
  EXPECT_EQ(call.stream, kStream.handle);
}

TEST(NcclCommunicator, GathersByOneBroadcastAPartInOneGroup) {
  FakeNccl nccl;
  nccl->size = 3;
  const auto communicator = nccl_communicator(kComm, FakeNccl::path()).value();
  std::uint8_t first[10], second[4];
  const std::int64_t offsets[] = {0, 3, 3}, counts[] = {3, 0, 7};
  const std::int64_t other_offsets[] = {0, 1, 4}, other_counts[] = {1, 3, 0};
  const Gather gathers[] = {{first, offsets, counts}, {second, other_offsets, other_counts}};
  communicator->all_gather(gathers, kStream).value();
  std::vector<std::string> seen;
  for (const NcclCall& call : nccl->calls) {
    if (call.function != "ncclBroadcast") {
      seen.push_back(call.function);
      continue;
    }
    EXPECT_EQ(call.send, call.receive);
    EXPECT_EQ(call.type, 1);  // ncclUint8
    const bool in_first = call.receive >= first && call.receive < first + 10;
    const auto at = static_cast<std::uint8_t*>(call.receive) - (in_first ? first : second);
    seen.push_back(cat(in_first ? "first " : "second ", at, " ", call.count, " from ", call.root));
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"ncclGroupStart", "first 0 3 from 0", "first 3 7 from 2",
                                      "second 0 1 from 0", "second 1 3 from 1", "ncclGroupEnd"}));
}

TEST(NcclCommunicator, PassesOnWhatFailedAndClosesTheGroup) {
  FakeNccl nccl;
  const auto communicator = nccl_communicator(kComm, FakeNccl::path()).value();
  nccl->fail["ncclBroadcast"] = 2;
  std::uint8_t bytes[4];
  const std::int64_t offsets[] = {0}, counts[] = {4};
  const Gather gather{bytes, offsets, counts};
  EXPECT_EQ(communicator->all_gather({&gather, 1}, kStream).error().message(),
            "diecast: driver_error: ncclBroadcast gave 2 (unhandled system error)\n"
            "  fix: run with NCCL_DEBUG=WARN to see NCCL's own account");
  EXPECT_EQ(nccl->calls.back().function, "ncclGroupEnd");
}

TEST(NcclCommunicator, NeedsACommAndALibraryWithItsFunctions) {
  EXPECT_EQ(nccl_communicator(nullptr, FakeNccl::path()).error().message(),
            "diecast: missing_buffer: the NCCL communicator is null\n"
            "  fix: pass the ncclComm_t that ncclCommInitRank gave");
  const std::string other = DIECAST_FAKE_DIR "/libfake_answer.so";
  const Error error = nccl_communicator(kComm, other).error();
  EXPECT_EQ(error.code, ErrorCode::not_supported);
  EXPECT_NE(error.what.find("has no ncclGetErrorString"), std::string::npos) << error.what;
  EXPECT_EQ(nccl_communicator(kComm, "/nowhere/libnccl.so").error().code,
            ErrorCode::file_not_found);
}

TEST(NcclCommunicator, IsNotMadeOfACommThatNcclDoesNotKnow) {
  for (const char* function : {"ncclCommCount", "ncclCommUserRank"}) {
    FakeNccl nccl;
    nccl->fail[function] = 2;
    const Error error = nccl_communicator(kComm, FakeNccl::path()).error();
    EXPECT_EQ(error.code, ErrorCode::driver_error);
    EXPECT_EQ(error.what, cat(function, " gave 2 (unhandled system error)"));
  }
}

TEST(NcclCommunicator, RefusesACommThatDoesNotBlock) {
  FakeNccl nccl;
  const auto communicator = nccl_communicator(kComm, FakeNccl::path()).value();
  nccl->fail["ncclAllReduce"] = 7;  // ncclInProgress
  float values[1];
  EXPECT_EQ(communicator->all_reduce_max(values, 1, kStream).error().message(),
            "diecast: not_supported: ncclAllReduce gave 7: the communicator does not block\n"
            "  fix: make it with ncclConfig_t::blocking = 1");
}

TEST(NcclCommunicator, SaysHowToNameTheLibrary) {
  if (dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "NCCL is loaded";
  const char* const before = std::getenv("DIECAST_NCCL");
  const std::string kept = before == nullptr ? "" : before;
  setenv("DIECAST_NCCL", FakeNccl::path().c_str(), 1);
  FakeNccl nccl;
  nccl->size = 3;
  EXPECT_EQ(nccl_communicator(kComm).value()->size(), 3);
  setenv("DIECAST_NCCL", "/nowhere/libnccl.so", 1);
  const Error error = nccl_communicator(kComm).error();
  EXPECT_EQ(error.code, ErrorCode::file_not_found);
  EXPECT_EQ(error.fix, "install NCCL, or set DIECAST_NCCL to the path of libnccl.so.2");
  before == nullptr ? unsetenv("DIECAST_NCCL") : setenv("DIECAST_NCCL", kept.c_str(), 1);
}

TEST(CallbackCommunicator, CallsTheCallersFunctions) {
  std::vector<std::string> calls;
  CommunicatorCallbacks callbacks;
  callbacks.all_reduce_max = [&](float*, std::int64_t count, Stream) -> Result<void> {
    calls.push_back(cat("reduce ", count));
    return {};
  };
  callbacks.all_gather = [&](const Gather& gather, Stream) -> Result<void> {
    calls.push_back(cat("gather ", gather.counts[1]));
    return calls.size() < 3 ? Result<void>()
                            : Error{ErrorCode::timed_out, "no answer", "try again"};
  };
  auto communicator = CallbackCommunicator::make(1, 2, callbacks).value();
  EXPECT_EQ(communicator.rank(), 1);
  communicator.all_reduce_max(nullptr, 5, {}).value();
  const std::int64_t offsets[] = {0, 8}, counts[] = {8, 9};
  const Gather gathers[] = {{nullptr, offsets, counts}, {nullptr, offsets, counts}};
  EXPECT_EQ(communicator.all_gather(gathers, {}).error().code, ErrorCode::timed_out);
  EXPECT_EQ(calls, (std::vector<std::string>{"reduce 5", "gather 9", "gather 9"}));
}

TEST(CallbackCommunicator, IsMadeOfARankAndBothFunctions) {
  EXPECT_EQ(CallbackCommunicator::make(2, 2, {}).error().message(),
            "diecast: invalid_argument: rank 2 of a group of 2\n"
            "  fix: ranks count from 0 to the group's size - 1");
  EXPECT_EQ(CallbackCommunicator::make(0, 2, {}).error().message(),
            "diecast: invalid_argument: the callback all_reduce_max is empty\n"
            "  fix: set both functions of CommunicatorCallbacks");
}

}  // namespace
}  // namespace diecast
