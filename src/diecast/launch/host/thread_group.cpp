// Barriers and warp exchanges: the last thread to arrive completes them for all.
#include <diecast/base/text.h>
#include <diecast/launch/host/thread_group.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace diecast {
namespace {

// Removes the lowest lane of a set, which is not empty, and gives its number.
unsigned take_lane(std::uint32_t& lanes) {
  const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
  lanes &= lanes - 1;
  return lane;
}

bool same_place(const HostWait& a, const HostWait& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace

void ThreadGroup::begin(unsigned count, bool barriers) {
  count_ = count;
  warps_ = (count + kWarp - 1) / kWarp;
  warp_ = 0;
  barriers_ = barriers;
  ended_ = at_barrier_ = 0;
  barriers_differ_ = false;
  for (unsigned first = 0; first < count; first += kWarp) {
    const unsigned left = count - first;
    lanes_[first / kWarp] = ready_[first / kWarp] = left >= kWarp ? ~0u : (1u << left) - 1;
    exchanging_[first / kWarp] = 0;
  }
}

unsigned ThreadGroup::take() {
  for (unsigned tried = 0; tried < warps_; ++tried) {
    if (ready_[warp_] != 0) return warp_ * kWarp + take_lane(ready_[warp_]);
    if (++warp_ == warps_) warp_ = 0;
  }
  return kNone;
}

bool ThreadGroup::arrive(unsigned index, HostWait* wait) {
  waits_[index] = wait;
  return wait->kind == HostWait::barrier ? arrive_barrier(index) : arrive_exchange(index);
}

void ThreadGroup::end(unsigned index) {
  waits_[index] = nullptr;
  ++ended_;
}

// A barrier of another line is another barrier: who meets there has skipped one of them.
bool ThreadGroup::arrive_barrier(unsigned index) {
  const HostWait* wait = waits_[index];
  if (at_barrier_++ == 0) barrier_ = wait;
  if (!same_place(*barrier_, *wait)) barriers_differ_ = true;
  if (at_barrier_ != count_ || barriers_differ_ || !barriers_) return false;
  at_barrier_ = 0;
  std::copy_n(lanes_.begin(), warps_, ready_.begin());
  ready_[index / kWarp] &= ~(1u << index % kWarp);
  return true;
}

// Lanes beyond the block's end never were; all others that the mask names must come, with the same
// mask and to the same kind of exchange.
bool ThreadGroup::arrive_exchange(unsigned index) {
  const unsigned warp = index / kWarp;
  const std::uint32_t own = 1u << index % kWarp;
  const HostWait& wait = *waits_[index];
  const std::uint32_t lanes = wait.mask & lanes_[warp];
  exchanging_[warp] |= own;
  if ((lanes & own) == 0 || (exchanging_[warp] & lanes) != lanes) return false;
  for (std::uint32_t rest = lanes; rest != 0;) {
    const HostWait& other = *waits_[warp * kWarp + take_lane(rest)];
    if (other.mask != wait.mask || other.kind != wait.kind) return false;
  }
  complete(warp, lanes);
  exchanging_[warp] &= ~lanes;
  ready_[warp] |= lanes & ~own;
  return true;
}

// Gives every lane its result at once: a lane that runs ahead to its next exchange cannot take away
// a value that another has not read yet.
void ThreadGroup::complete(unsigned warp, std::uint32_t lanes) {
  HostWait** const waits = &waits_[warp * kWarp];
  std::array<unsigned long long, kWarp> values;
  std::uint32_t ballot = 0;
  for (std::uint32_t rest = lanes; rest != 0;) {
    const unsigned lane = take_lane(rest);
    values[lane] = waits[lane]->value;
    if (values[lane] != 0) ballot |= 1u << lane;
  }
  for (std::uint32_t rest = lanes; rest != 0;) {
    HostWait& wait = *waits[take_lane(rest)];
    if (wait.kind == HostWait::ballot) wait.value = ballot;
    if (wait.kind == HostWait::shuffle && wait.source < kWarp && (lanes >> wait.source & 1))
      wait.value = values[wait.source];
  }
}

const HostWait* ThreadGroup::first_wait() const {
  const auto end = waits_.begin() + count_;
  const auto found = std::find_if(waits_.begin(), end, [](const HostWait* w) { return w; });
  return found == end ? nullptr : *found;
}

std::string ThreadGroup::where() const {
  std::vector<std::pair<std::string, unsigned>> places;
  for (unsigned i = 0; i < count_; ++i) {
    if (!waits_[i]) continue;
    const std::string place = place_of(*waits_[i]);
    const auto known = std::find_if(places.begin(), places.end(),
                                    [&](const auto& entry) { return entry.first == place; });
    if (known == places.end()) {
      places.emplace_back(place, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [place, count] : places) {
    parts.push_back(cat(count, count == 1 ? " waits at " : " wait at ", place));
  }
  if (ended_ != 0) parts.push_back(cat(ended_, ended_ == 1 ? " has ended" : " have ended"));
  return join(parts, ", ");
}

std::string place_of(const HostWait& wait) {
  static constexpr const char* kWords[] = {"__syncthreads", "__syncwarp", "a shuffle", "a ballot"};
  std::string text = cat(kWords[wait.kind & 3], " (", wait.file, ":", wait.line);
  if (wait.kind != HostWait::barrier) {
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", wait.mask);
    text += cat(", mask ", mask);
  }
  return text + ")";
}

}  // namespace diecast
