// NCCL, declared here as far as it is used: its C interface has kept these since 2.2. A gathering
// with a count and a place of its own for every rank is one broadcast a rank, all in one group.
#include <diecast/base/library.h>
#include <diecast/base/text.h>
#include <diecast/ops/weights/nccl.h>

namespace diecast {
namespace {

constexpr int kInProgress = 7;                     // ncclInProgress, since 2.14
constexpr int kUint8 = 1, kFloat32 = 7, kMax = 2;  // ncclUint8, ncclFloat32, ncclMax

struct NcclApi {
  explicit NcclApi(Library opened) : library(std::move(opened)) {}
  Library library;
  const char* (*error_text)(int result) = nullptr;
  int (*comm_count)(void* comm, int* count) = nullptr;
  int (*comm_rank)(void* comm, int* rank) = nullptr;
  int (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int op,
                    void* comm, void* stream) = nullptr;
  int (*broadcast)(const void* send, void* receive, std::size_t count, int type, int root,
                   void* comm, void* stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
};

Result<Library> open_library(const std::string& named) {
  if (!named.empty()) return Library::open(named);
  if (auto present = Library::already_loaded("libnccl.so.2")) return present;
  const std::string wanted = environment_variable("DIECAST_NCCL");
  auto opened = Library::open(wanted.empty() ? "libnccl.so.2" : wanted);
  if (opened) return opened;
  Error error = std::move(opened).error();
  error.fix = "install NCCL, or set DIECAST_NCCL to the path of libnccl.so.2";
  return error;
}

Result<NcclApi> open_api(const std::string& named) {
  DIECAST_TRY(Library library, open_library(named));
  NcclApi api(std::move(library));
  std::string lacking;
  const auto find = [&](auto*& function, const char* name) {
    using Function = std::remove_reference_t<decltype(*function)>;
    function = api.library.function<Function>(name);
    if (function == nullptr && lacking.empty()) lacking = name;
  };
  find(api.error_text, "ncclGetErrorString");
  find(api.comm_count, "ncclCommCount");
  find(api.comm_rank, "ncclCommUserRank");
  find(api.all_reduce, "ncclAllReduce");
  find(api.broadcast, "ncclBroadcast");
  find(api.group_start, "ncclGroupStart");
  find(api.group_end, "ncclGroupEnd");
  if (lacking.empty()) return api;
  return Error{ErrorCode::not_supported, cat(api.library.path(), " has no ", lacking),
               "set DIECAST_NCCL to the path of an NCCL of version 2.2 or newer"};
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(NcclApi api, void* comm) : api_(std::move(api)), comm_(comm) {}

  Result<void> identify() {
    DIECAST_CHECK(done("ncclCommCount", api_.comm_count(comm_, &size_)));
    return done("ncclCommUserRank", api_.comm_rank(comm_, &rank_));
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Result<void> all_reduce_max(float* values, std::int64_t count, Stream stream) override {
    return done("ncclAllReduce", api_.all_reduce(values, values, static_cast<std::size_t>(count),
                                                 kFloat32, kMax, comm_, stream.handle));
  }

  Result<void> all_gather(std::span<const Gather> gathers, Stream stream) override {
    DIECAST_CHECK(done("ncclGroupStart", api_.group_start()));
    Result<void> enqueued = broadcast_parts(gathers, stream);
    const auto ended =
        done("ncclGroupEnd", api_.group_end());  // in any case, or the group stays open
    return enqueued ? ended : enqueued;
  }

 private:
  Result<void> broadcast_parts(std::span<const Gather> gathers, Stream stream) {
    for (const Gather& gather : gathers) {
      for (std::size_t r = 0; r < gather.counts.size(); ++r) {
        if (gather.counts[r] == 0) continue;
        void* part = static_cast<std::uint8_t*>(gather.buffer) + gather.offsets[r];
        const auto count = static_cast<std::size_t>(gather.counts[r]);
        DIECAST_CHECK(done(
            "ncclBroadcast",
            api_.broadcast(part, part, count, kUint8, static_cast<int>(r), comm_, stream.handle)));
      }
    }
    return {};
  }
  Result<void> done(std::string_view function, int result) const {
    if (result == 0) return {};
    if (result == kInProgress)
      return Error{ErrorCode::not_supported,
                   cat(function, " gave 7: the communicator does not block"),
                   "make it with ncclConfig_t::blocking = 1"};
    return Error{ErrorCode::driver_error,
                 cat(function, " gave ", result, " (", api_.error_text(result), ")"),
                 "run with NCCL_DEBUG=WARN to see NCCL's own account"};
  }

  NcclApi api_;
  void* comm_;
  int rank_ = 0, size_ = 1;
};

}  // namespace

Result<std::shared_ptr<Communicator>> nccl_communicator(void* nccl_comm,
                                                        const std::string& library) {
  if (nccl_comm == nullptr) {
    return Error{ErrorCode::missing_buffer, "the NCCL communicator is null",
                 "pass the ncclComm_t that ncclCommInitRank gave"};
  }
  DIECAST_TRY(NcclApi api, open_api(library));
  auto communicator = std::make_shared<NcclCommunicator>(std::move(api), nccl_comm);
  DIECAST_CHECK(communicator->identify());
  return std::shared_ptr<Communicator>(std::move(communicator));
}

}  // namespace diecast
