// The border that no exception crosses: our own code throws none, but memory runs out.
#pragma once

#include <diecast/base/error.h>

#include <exception>
#include <new>

namespace diecast {

// Short enough for std::string to allocate nothing.
inline Error out_of_memory() { return {ErrorCode::out_of_memory, "out of memory", "free memory"}; }

// What `function`, which gives a Result, returns; what it throws as an error.
template <class Function>
auto no_throw(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::internal, thrown.what(), "report it"};
  }
}

}  // namespace diecast
