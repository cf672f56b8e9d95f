// The table of handles. Using a handle takes no lock: one atomic addition in, one out; see
// handles.h.
#include <diecast/base/fork.h>
#include <diecast/base/text.h>
#include <diecast/c/handles.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace diecast::c {

// state: the generation in the upper half, then whether it is open, then how many use it.
struct Slot {
  std::atomic<std::uint64_t> state = 0;
  std::atomic<Object*> object = nullptr;
};

namespace {

constexpr std::uint64_t kOpen = std::uint64_t{1} << 31, kUses = kOpen - 1;
constexpr std::uint64_t kGeneration = std::uint64_t{1} << 32;
constexpr std::size_t kChunk = 1024, kChunks = 4096;

// The places, in chunks that are made once and stay.
constinit std::array<std::atomic<Slot*>, kChunks> chunks{};
// A child lacks the threads that used objects when it was forked: nothing is in use there.
constinit std::atomic<std::uint64_t> epoch = 0;

Slot* slot_at(std::size_t index) {
  if (index >= kChunk * kChunks) return nullptr;
  Slot* const chunk = chunks[index / kChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : chunk + index % kChunk;
}

void begin_in_child(void*) {
  ++epoch;
  for (const auto& chunk : chunks) {
    Slot* const slots = chunk.load();
    for (std::size_t i = 0; slots != nullptr && i < kChunk; ++i) slots[i].state &= ~kUses;
  }
}

// Which places are free.
struct Table {
  ForkSafe<std::mutex> mutex;  // of the next two
  std::vector<std::uint32_t> free;
  std::size_t made = 0;
  HeldOverFork forked{this, nullptr, nullptr, begin_in_child};
};

Table& table() {
  static Table& only = *new Table;
  return only;
}

constinit thread_local const Use* innermost = nullptr;
thread_local int callbacks = 0;

std::string_view kind_word(Kind kind) {
  constexpr std::string_view kWords[] = {"runtime", "device", "kernel", "prepared op",
                                         "prepared quantize_for"};
  return kWords[static_cast<std::size_t>(kind)];
}

[[gnu::cold]] Error no_object(std::string_view function, std::string_view kind) {
  return {ErrorCode::invalid_argument, cat(function, ": the handle is of no open ", kind),
          cat("pass the handle of an open ", kind)};
}

Error in_use(std::string_view by) {
  return {ErrorCode::invalid_argument, cat("diecast_close: called from within ", by),
          "close it when that call has returned"};
}

Result<std::uint32_t> take_place() {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  if (!all.free.empty()) {
    const std::uint32_t index = all.free.back();
    all.free.pop_back();
    return index;
  }
  if (all.made == kChunk * kChunks) {
    return Error{ErrorCode::out_of_memory, cat(all.made, " objects are open"),
                 "close handles that are not needed"};
  }
  if (all.made % kChunk == 0) {
    all.free.reserve(all.made + kChunk);  // so that close() allocates nothing
    chunks[all.made / kChunk].store(new Slot[kChunk]);
  }
  return static_cast<std::uint32_t>(all.made++);
}

// Whether the slot has an open object of this generation.
bool is_open(std::uint64_t state, std::uint64_t handle) {
  return state >> 32 == handle >> 32 && (state & kOpen) != 0;
}

void leave(Slot* slot) {
  const std::uint64_t before = slot->state.fetch_sub(1, std::memory_order_release);
  if ((before & kOpen) == 0) [[unlikely]]
    slot->state.notify_all();  // close() waits
}

}  // namespace

// What calls of ops go through lies side by side ([[gnu::hot]]), on one page of code.
[[gnu::hot]] void Use::give_back() {
  *innermost_ = outer_;
  if (epoch_ == epoch.load(std::memory_order_relaxed)) [[likely]]
    leave(slot_);
}

bool Use::has(const Slot* slot) {
  const Use* use = innermost;
  while (use != nullptr && use->slot_ != slot) use = use->outer_;
  return use != nullptr;
}

Result<std::uint64_t> open(std::unique_ptr<Object> object) {
  DIECAST_TRY(const std::uint32_t index, take_place());
  Slot& slot = *slot_at(index);
  slot.object.store(object.release());
  const std::uint64_t state = slot.state.fetch_add(kGeneration + kOpen) + kGeneration;
  return (state >> 32 << 32) | (index + 1);
}

[[gnu::hot]] Result<void> Use::take(std::uint64_t handle, Kind kind, const char* function) {
  Slot* const slot = slot_at(static_cast<std::uint32_t>(handle) - std::size_t{1});
  if (slot == nullptr) [[unlikely]]
    return no_object(function, kind_word(kind));
  const std::uint64_t state = slot->state.fetch_add(1, std::memory_order_acquire);
  Object* const object = slot->object.load(std::memory_order_acquire);
  if (!is_open(state, handle) || object->kind() != kind) [[unlikely]] {
    leave(slot);
    return no_object(function, kind_word(kind));
  }
  slot_ = slot;
  object_ = object;
  epoch_ = epoch.load(std::memory_order_relaxed);
  innermost_ = &innermost;
  outer_ = std::exchange(*innermost_, this);
  return {};
}

Result<void> close(std::uint64_t handle) {
  if (callbacks > 0) return in_use("an event callback");
  const std::uint32_t index = static_cast<std::uint32_t>(handle) - 1;
  Slot* const slot = slot_at(index);
  if (slot == nullptr) return no_object("diecast_close", "object");
  if (Use::has(slot)) return in_use("a call that uses the object");
  std::uint64_t state = slot->state.load();
  do {
    if (!is_open(state, handle)) return no_object("diecast_close", "object");
  } while (!slot->state.compare_exchange_weak(state, state & ~kOpen));
  for (state = slot->state.load(); (state & kUses) != 0; state = slot->state.load())
    slot->state.wait(state);
  delete slot->object.exchange(nullptr);
  if (state >> 32 == 0xFFFFFFFF) return {};  // its generations are used up
  std::lock_guard lock(table().mutex);
  table().free.push_back(index);
  return {};
}

InCallback::InCallback() { ++callbacks; }
InCallback::~InCallback() { --callbacks; }

}  // namespace diecast::c
