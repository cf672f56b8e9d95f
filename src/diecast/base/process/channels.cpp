// Feeding and draining a program's streams, none of which may hold us up.
#include <diecast/base/process/channels.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace diecast::process {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);  // fits a time point

// Reads what is there, at least all that a pipe holds; false at the end of the stream. Bounded,
// because a program may write faster than we read.
bool drain(int file, std::string& out, std::size_t limit) {
  char buffer[16384];
  for (int round = 0; round < 64; ++round) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    out.append(buffer, std::min(static_cast<std::size_t>(count), limit - out.size()));
  }
  return true;
}

// Writes what fits; false when all is written or nobody reads.
bool feed(int file, std::string_view& rest) {
  while (!rest.empty()) {
    const ssize_t count = send(file, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return false;
}

}  // namespace

bool serve(const ProcessRequest& request, std::array<Channel, 4>& channels, ProcessResult& result) {
  const auto end = Clock::now() + std::min(request.time_limit, kLongest);
  std::string_view rest = request.input;
  std::array<pollfd, 4> polls{};
  for (std::size_t i = 0; i < polls.size(); ++i)
    polls[i] = {channels[i].ours.number(), static_cast<short>(i == 0 ? POLLOUT : POLLIN), 0};
  for (;;) {
    const bool ended = polls[3].revents != 0;  // all that it wrote is there by now
    if (polls[0].fd >= 0 && !feed(polls[0].fd, rest)) {
      shutdown(polls[0].fd, SHUT_WR);  // a process forked by another thread may hold it open
      channels[0].ours.close();
      polls[0].fd = -1;
    }
    for (const std::size_t i : {1u, 2u}) {
      std::string& out = i == 1 ? result.output : result.errors;
      if (polls[i].fd >= 0 && !drain(polls[i].fd, out, request.output_limit)) polls[i].fd = -1;
    }
    if (ended) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    poll(polls.data(), polls.size(), static_cast<int>(std::min<std::int64_t>(left, 1 << 20)));
  }
}

int Channel::open(bool input) {
  int ends[2];
  const int made =
      input ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);
  if (made != 0) return -errno;
  for (int& end : ends) {
    if (end > 2) continue;
    const int low = end;
    end = fcntl(low, F_DUPFD_CLOEXEC, 3);
    close(low);
  }
  ours = Descriptor(system_files(), ends[0]);
  theirs = Descriptor(system_files(), ends[1]);
  if (!ours || !theirs) return -EMFILE;
  return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

}  // namespace diecast::process
