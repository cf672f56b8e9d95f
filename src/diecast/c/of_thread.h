// Objects of one thread, each made as it is first kept, in memory that ends with the thread. The
// pointers need no destructor: a call from another object's destructor, as the thread ends, finds
// and keeps nothing.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

namespace diecast::c {

template <class T, std::size_t kCount>
class OfThread {
 public:
  // Null: there is none at this place yet.
  static T* at(std::size_t place) { return all_[place]; }
  // Null: the thread ends.
  static T* make_at(std::size_t place) {
    if (ended_) return nullptr;
    static thread_local const AtEnd at_end;
    T*& object = all_[place];
    if (object == nullptr) object = new T;
    return object;
  }

 private:
  struct AtEnd {
    AtEnd() {}
    ~AtEnd() {
      ended_ = true;
      for (T*& object : all_) delete std::exchange(object, nullptr);
    }
  };
  static inline thread_local constinit std::array<T*, kCount> all_{};
  static inline thread_local constinit bool ended_ = false;
};

}  // namespace diecast::c
