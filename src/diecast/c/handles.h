// Handles: numbers for objects, so that a stale or invented one is an error and not an address. A
// handle is a place in a table and the place's generation, which counts up with every object it
// had.
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <memory>

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

// An object in use: close() waits until it is given back. A thread gives back its objects in the
// opposite order.
class Use {
 public:
  Use() = default;
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    if (slot_ != nullptr) give_back();
  }
  // Takes the object of a handle, once. Errors, in the name of `function`: invalid_argument (there
  // is none, it is closed, it is of another kind).
  Result<void> take(std::uint64_t handle, Kind kind, const char* function);
  Object* object() const { return object_; }

 private:
  friend Result<void> close(std::uint64_t);
  void give_back();
  // Whether this thread uses the object of a place: in a call or, below an event callback, in the
  // call that it came from.
  static bool has(const Slot* slot);

  Slot* slot_ = nullptr;
  Object* object_ = nullptr;
  std::uint64_t epoch_ = 0;
  const Use** innermost_ = nullptr;  // the thread's
  const Use* outer_ = nullptr;
};

// A handle for the object. Errors: out_of_memory.
Result<std::uint64_t> open(std::unique_ptr<Object> object);
template <class T>
class Used {
 public:
  Result<void> take(std::uint64_t handle, const char* function) {
    return use_.take(handle, T::kKind, function);
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
