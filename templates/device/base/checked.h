// Tensor arguments of a debug build: pointers that know how many elements they have. What is read or
// written through x[i] and *(x + i) must be one of them. A pointer that is handed on, converted or cast
// must point at one of them or right behind the last; from there on it is an ordinary pointer.
#pragma once

#include <diecast/device/base/atomics.h>
#include <diecast/device/base/report.h>
#include <diecast/device/base/types.h>

namespace diecast {

// Elements of a matrix of so many rows, `stride` from one to the next.
constexpr i64 elements_with_stride(i64 rows, i64 stride, i64 cols) { return rows < 1 ? 0 : (rows - 1) * stride + cols; }

// Says which element of how many was asked for, and goes no further.
DIECAST_DEVICE_CALL void index_is_outside(const char* tensor, i64 index, i64 count, const char* file, unsigned line) {
#if defined(__CUDACC__)
  printf("%s:%u: %s[%lld] is outside of its %lld elements\n", file, line, tensor, index, count);
  __assertfail("an index of a tensor is inside", file, line, tensor, sizeof(char));
#else
  char what[256];
  __builtin_snprintf(what, sizeof what, "%s[%lld] is outside of its %lld elements", tensor, index, count);
  host_failed(what, file, line);
#endif
}

// An index, and the line of the code that it stands in.
struct CheckedIndex {
  i64 value;
  const char* file;
  unsigned line;
  template <class I>
  DIECAST_DEVICE CheckedIndex(I index, const char* at_file = __builtin_FILE(), unsigned at_line = __builtin_LINE())
      : value(static_cast<i64>(index)), file(at_file), line(at_line) {}
};

template <bool Holds>
struct OnlyIf {};
template <>
struct OnlyIf<true> {
  using type = int;
};

template <class T>
class Checked {
 public:
  DIECAST_DEVICE Checked(T* first, i64 count, const char* name) : first_(first), count_(count), name_(name) {}
  // The other side of ?: may be nullptr, or a tensor argument that is written where this one is const.
  DIECAST_DEVICE Checked(decltype(nullptr), const char* at_file = __builtin_FILE(), unsigned at_line = __builtin_LINE())
      : first_(nullptr), count_(0), name_("nullptr"), file_(at_file), line_(at_line) {}
  template <class U, typename OnlyIf<__is_assignable(T*&, U*)>::type = 0>
  DIECAST_DEVICE Checked(const Checked<U>& x)
      : first_(x.first_), count_(x.count_), at_(x.at_), name_(x.name_), file_(x.file_), line_(x.line_) {}

  DIECAST_DEVICE T& operator[](CheckedIndex index) const { return (*this + index).element(); }
  DIECAST_DEVICE T& operator*() const { return element(); }
  DIECAST_DEVICE T* operator->() const { return &element(); }

  DIECAST_DEVICE Checked operator+(CheckedIndex index) const { return moved(at_ + index.value, index); }
  DIECAST_DEVICE Checked operator-(CheckedIndex index) const { return moved(at_ - index.value, index); }
  DIECAST_DEVICE Checked& operator+=(CheckedIndex index) { return *this = *this + index; }
  DIECAST_DEVICE Checked& operator-=(CheckedIndex index) { return *this = *this - index; }
  DIECAST_DEVICE Checked& operator++() { return ++at_, *this; }
  DIECAST_DEVICE Checked& operator--() { return --at_, *this; }
  DIECAST_DEVICE Checked operator++(int) { return ++at_, moved_back(1); }
  DIECAST_DEVICE Checked operator--(int) { return --at_, moved_back(-1); }

  // Where T* becomes another pointer by itself, as const T* or volatile void*. (A template: else the
  // operators above would be no better than those of the pointer that it becomes.)
  template <class U, typename OnlyIf<__is_assignable(U*&, T*)>::type = 0>
  DIECAST_DEVICE operator U*() const {
    return address();
  }
  // (const float4*)x, (u64)x.
  template <class U, typename OnlyIf<!__is_assignable(U*&, T*)>::type = 0>
  DIECAST_DEVICE explicit operator U*() const {
    return (U*)address();
  }
  template <class I, typename OnlyIf<sizeof(I) == sizeof(T*) && (I{1} / I{2} == I{0})>::type = 0>
  DIECAST_DEVICE explicit operator I() const {
    return reinterpret_cast<I>(address());
  }
  DIECAST_DEVICE explicit operator bool() const { return first_ != nullptr; }

  DIECAST_DEVICE T* address() const {
    if (at_ < 0 || at_ > count_) outside();
    return place();
  }
  DIECAST_DEVICE T* place() const { return first_ + at_; }  // wherever that is

 private:
  template <class U>
  friend class Checked;
  DIECAST_DEVICE Checked moved(i64 at, CheckedIndex by) const {
    Checked out = *this;
    out.at_ = at;
    out.file_ = by.file;
    out.line_ = by.line;
    return out;
  }
  DIECAST_DEVICE Checked moved_back(i64 steps) const {
    Checked out = *this;
    out.at_ -= steps;
    return out;
  }
  DIECAST_DEVICE T& element() const {
    if (at_ < 0 || at_ >= count_) outside();
    return first_[at_];
  }
  DIECAST_DEVICE void outside() const { index_is_outside(name_, at_, count_, file_, line_); }

  T* first_;
  i64 count_, at_ = 0;
  const char* name_;
  const char* file_ = "the argument itself";
  unsigned line_ = 0;
};

// What is compared with a checked pointer, and subtracted from one: a checked one or an ordinary one.
template <class T>
constexpr bool is_checked = false;
template <class T>
constexpr bool is_checked<Checked<T>> = true;
template <class T>
DIECAST_DEVICE T* place_of(const Checked<T>& pointer) {
  return pointer.place();
}
template <class T>
DIECAST_DEVICE T* place_of(T* pointer) {
  return pointer;
}
DIECAST_DEVICE const void* place_of(decltype(nullptr)) { return nullptr; }

#define DIECAST_OF_PLACES(symbol)                                                                         \
  template <class A, class B, typename OnlyIf<is_checked<A> || is_checked<B>>::type = 0>                  \
  DIECAST_DEVICE auto operator symbol(const A& a, const B& b)->decltype(place_of(a) symbol place_of(b)) { \
    return place_of(a) symbol place_of(b);                                                                \
  }
DIECAST_OF_PLACES(==)
DIECAST_OF_PLACES(!=)
DIECAST_OF_PLACES(<)
DIECAST_OF_PLACES(<=)
DIECAST_OF_PLACES(>)
DIECAST_OF_PLACES(>=)
DIECAST_OF_PLACES(-)
#undef DIECAST_OF_PLACES

// 1 + x
template <class I, class T, typename OnlyIf<!is_checked<I>>::type = 0>
DIECAST_DEVICE auto operator+(I index, const Checked<T>& pointer) -> decltype(pointer + CheckedIndex(index)) {
  return pointer + index;
}

#if DIECAST_HOST  // where these words are templates, which could not deduce their pointer
#define DIECAST_OF_ELEMENT(word)                                          \
  template <class T, class... Values>                                     \
  DIECAST_DEVICE auto word(const Checked<T>& element, Values... values) { \
    return word(&*element, values...);                                    \
  }
DIECAST_OF_ELEMENT(__ldg)
DIECAST_OF_ELEMENT(atomicAdd)
DIECAST_OF_ELEMENT(atomicMax)
DIECAST_OF_ELEMENT(atomicMin)
DIECAST_OF_ELEMENT(atomicAnd)
DIECAST_OF_ELEMENT(atomicOr)
DIECAST_OF_ELEMENT(atomicXor)
DIECAST_OF_ELEMENT(atomicExch)
DIECAST_OF_ELEMENT(atomicCAS)
#undef DIECAST_OF_ELEMENT
#endif

// reinterpret_cast in a debug build.
template <class To, class From>
DIECAST_DEVICE To reinterpreted(From&& from) {
  return reinterpret_cast<To>(from);
}
template <class To, class T>
DIECAST_DEVICE To reinterpreted(Checked<T> from) {
  return reinterpret_cast<To>(from.address());
}

}  // namespace diecast
