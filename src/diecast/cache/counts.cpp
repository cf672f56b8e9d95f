// v1/counts: what the processes that used a root did, added up for people. One page, written whole
// by one call, under a lock that is tried and never waited for: what cannot be added is lost, and a
// page whose checksum is wrong counts as none.
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache_state.h>
#include <diecast/cache/trusted_directory.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <thread>

namespace diecast {
namespace {

constexpr char kName[] = "counts";
constexpr std::string_view kFirst = "diecast counts 1 ";
constexpr std::size_t kPage = 4096, kHead = kFirst.size() + 32 + 1;
constexpr int kTries = 16;  // of the lock, a tenth of a millisecond apart

bool is_count_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string write_page(const Counts& counts) {
  std::string lines;
  for (const auto& [name, count] : counts) {
    const std::string line = cat(name, " ", count, "\n");
    if (is_count_name(name) && kHead + lines.size() + line.size() <= kPage) lines += line;
  }
  lines.resize(kPage - kHead, '\n');
  return cat(kFirst, xxh3_128(as_bytes(lines)).hex(), "\n", lines);
}

Counts read_page(std::string_view page) {
  Counts out;
  if (page.size() != kPage) return out;
  const std::string_view lines = page.substr(kHead);
  if (page.substr(0, kHead) != cat(kFirst, xxh3_128(as_bytes(lines)).hex(), "\n")) return out;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const auto count = parse_integer(line.substr(std::min(blank + 1, line.size())));
    if (count && *count >= 0 && is_count_name(line.substr(0, blank)))
      out[std::string(line.substr(0, blank))] = static_cast<std::uint64_t>(*count);
  }
  return out;
}

// Whether there is such a file, and we made it.
bool is_our_file(FileSystem& files, const Descriptor& file) {
  struct stat status;
  return file && files.status(file.number(), &status) >= 0 && S_ISREG(status.st_mode) &&
         is_private(status);
}

// The page of a file of ours.
Counts counts_in(FileSystem& files, const Descriptor& file) {
  std::string page(kPage, '\0');
  if (read_exactly(files, file.number(), page.data(), page.size(), 0) < 0) return {};
  return read_page(page);
}

void add(Counts& to, const Counts& counts) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [name, count] : counts) {
    std::uint64_t& sum = to[name];
    sum += std::min(count, kMost - sum);
  }
}

bool lock_page(FileSystem& files, int file) {
  int result = files.try_lock(file, 0, kPage);
  for (int tries = 1; result == -EAGAIN && tries < kTries; ++tries) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    result = files.try_lock(file, 0, kPage);
  }
  return result >= 0;
}

}  // namespace

bool DiskCache::add_counts(const Counts& counts) {
  State& state = *state_;
  FileSystem& files = state.files;
  const auto directory = state.directory();
  if (!state.may_write(*directory)) return false;
  const Descriptor file(files, files.open_at(directory->versions(), kName,
                                             O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!is_our_file(files, file)) return false;
  if (!lock_page(files, file.number())) return false;
  Counts sums = counts_in(files, file);
  add(sums, counts);
  const std::string page = write_page(sums);
  const int written = write_exactly(files, file.number(), page.data(), page.size(), 0);
  files.unlock(file.number(), 0, kPage);
  return written >= 0;
}

Counts DiskCache::counts() const {
  const auto directory = state_->directory();
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
  FileSystem& files = state_->files;
  const Descriptor file(files, files.open_at(directory->versions(), kName, kHow, 0));
  return is_our_file(files, file) ? counts_in(files, file) : Counts();
}

}  // namespace diecast
