// Types of NVIDIA's headers as ours spell them. A test that holds declarations of a library against
// its header says of each type of that header which of ours it is; nothing else may stand for
// another.
#pragma once

#include <type_traits>

namespace diecast::testing {
namespace {  // what a type is ours of differs from test to test

template <class T>
struct Ours {
  using type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <class T>
struct Ours<const T> {
  using type = const typename Ours<T>::type;
};
template <class T>
struct Ours<T*> {
  using type = typename Ours<T>::type*;
};
template <class Result, class... Arguments>
struct Ours<Result(Arguments...)> {
  using type = typename Ours<Result>::type(typename Ours<Arguments>::type...);
};

}  // namespace
}  // namespace diecast::testing
