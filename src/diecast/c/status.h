// The border of the C interface: what a call of ours returns as an error, and what it throws,
// become a code and this thread's last error.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/no_throw.h>
#include <diecast/c.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace diecast::c {

std::int32_t code_of(ErrorCode code);
// Keeps the error as this thread's last one. Returns its code.
std::int32_t fail(const Error& error);

// What `function`, which gives a Result<void>, comes to at the border.
template <class Function>
std::int32_t at_border(Function&& function) {
  const Result<void> result = no_throw(std::forward<Function>(function));
  return result ? std::int32_t{diecast_ok} : fail(result.error());
}

// invalid_argument: `function` was given null as `name`.
Error null_argument(std::string_view function, std::string_view name);
template <class T>
Result<void> check_given(const T* pointer, std::string_view function, std::string_view name) {
  if (pointer != nullptr) [[likely]]
    return {};
  return null_argument(function, name);
}

// The part of read_structure() that knows bytes alone.
Result<void> read_structure(const void* given, void* structure, std::size_t bytes,
                            std::string_view name);
// A structure that begins with its size, over `fallback`: an earlier program's is shorter. A later
// one's is longer, which is fine as long as what we do not know is 0. Null is the fallback. Errors:
// invalid_argument (a size that makes no sense), not_supported.
template <class T>
Result<T> read_structure(const T* given, const T& fallback, std::string_view name) {
  T structure = fallback;
  structure.size = sizeof(T);
  if (given != nullptr) DIECAST_CHECK(read_structure(given, &structure, sizeof(T), name));
  return structure;
}
// The same the other way: as much as the caller's structure has room for. Null is left alone.
Result<void> write_structure(void* given, const void* structure, std::size_t bytes,
                             std::string_view name);

// Fills a caller's buffer. Errors: invalid_argument (no structure).
Result<void> write_text(diecast_text* to, std::string_view text, std::string_view function);

}  // namespace diecast::c
