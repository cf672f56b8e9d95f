// Handles: numbers for objects, so that a stale or invented one is an error and not an address. A
// handle is a place in a table and the place's generation, which counts up with every object it
// had.
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace diecast::c {

enum class Kind : std::uint8_t { runtime, device, kernel, op, quantize_for };

// What a handle names.
class Object {
 public:
  explicit Object(Kind kind) : kind_(kind) {}
  virtual ~Object() = default;
  Kind kind() const { return kind_; }

 private:
  const Kind kind_;
};

struct Slot;

// An object in use: close() waits until it is given back.
class Use {
 public:
  Use() = default;
  Use(Use&& other) noexcept
      : slot_(std::exchange(other.slot_, nullptr)), object_(other.object_), epoch_(other.epoch_) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(object_, other.object_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }
  ~Use() {
    if (slot_ != nullptr) give_back();
  }
  Object* object() const { return object_; }

 private:
  friend Result<Use> use(std::uint64_t, Kind, std::string_view);
  friend Result<void> close(std::uint64_t);
  void give_back();

  Slot* slot_ = nullptr;
  Object* object_ = nullptr;
  std::uint64_t epoch_ = 0;
};

// A handle for the object. Errors: out_of_memory.
Result<std::uint64_t> open(std::unique_ptr<Object> object);
// The object of a handle. Errors, in the name of `function`: invalid_argument (there is none, it is
// closed, it is of another kind).
Result<Use> use(std::uint64_t handle, Kind kind, std::string_view function);
template <class T>
class Used {
 public:
  static Result<Used> of(std::uint64_t handle, std::string_view function) {
    DIECAST_TRY(Use got, use(handle, T::kKind, function));
    Used out;
    out.use_ = std::move(got);
    return out;
  }
  T* operator->() const { return static_cast<T*>(use_.object()); }
  T& operator*() const { return *static_cast<T*>(use_.object()); }

 private:
  Use use_;
};
// Ends the object once nobody uses it. Errors: invalid_argument (no such object; this thread is
// within one of its calls, or in an event callback).
Result<void> close(std::uint64_t handle);

// While an event callback runs, its thread may close nothing.
class InCallback {
 public:
  InCallback();
  ~InCallback();
};

}  // namespace diecast::c
