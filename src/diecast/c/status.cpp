// Codes, each thread's last error, and structures that begin with their size; see status.h.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/c/status.h>

#include <algorithm>

namespace diecast::c {
namespace {

// The last error of a thread. A pointer of its own outlives the thread's objects: a static object's
// destructor may still make a call.
thread_local Error* last = nullptr;

struct EndOfThread {
  bool used = false;
  ~EndOfThread() { delete std::exchange(last, nullptr); }
};
thread_local EndOfThread end_of_thread;

Error wrong_size(std::string_view name, std::size_t size, std::size_t bytes) {
  return {ErrorCode::invalid_argument, cat(name, ".size is ", size, ", of ", bytes, " bytes"),
          cat("set ", name, ".size = sizeof ", name)};
}

}  // namespace

std::int32_t code_of(ErrorCode code) {
  switch (code) {
#define DIECAST_C_CASE(number, word) \
  case ErrorCode::word:              \
    return number;
    DIECAST_C_CODES(DIECAST_C_CASE)
#undef DIECAST_C_CASE
  }
  return diecast_internal;
}

std::int32_t fail(const Error& error) {
  end_of_thread.used = true;  // makes it
  try {
    if (last == nullptr) last = new Error;
    *last = error;
  } catch (const std::bad_alloc&) {
    if (last != nullptr) *last = out_of_memory();
    return diecast_out_of_memory;
  }
  return code_of(error.code);
}

Error null_argument(std::string_view function, std::string_view name) {
  return {ErrorCode::invalid_argument, cat(function, ": ", name, " is null"), cat("pass ", name)};
}

Result<void> read_structure(const void* given, void* structure, std::size_t bytes,
                            std::string_view name) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > std::size_t{1} << 16) return wrong_size(name, size, bytes);
  const std::size_t known = std::min(size, bytes);
  std::memcpy(static_cast<char*>(structure) + sizeof size,
              static_cast<const char*>(given) + sizeof size, known - sizeof size);
  for (std::size_t i = known; i < size; ++i) {
    if (static_cast<const char*>(given)[i] == 0) continue;
    return Error{ErrorCode::not_supported,
                 cat(name, " has fields that diecast ", library_version(), " does not know"),
                 "load a later libdiecast_c.so.1, or leave those fields 0"};
  }
  return {};
}

Result<void> write_structure(void* given, const void* structure, std::size_t bytes,
                             std::string_view name) {
  if (given == nullptr) return {};
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > std::size_t{1} << 16) return wrong_size(name, size, bytes);
  std::memcpy(static_cast<char*>(given) + sizeof size,
              static_cast<const char*>(structure) + sizeof size,
              std::min(size, bytes) - sizeof size);
  return {};
}

Result<void> write_text(diecast_text* to, std::string_view text, std::string_view function) {
  DIECAST_CHECK(check_given(to, function, "the text to write"));
  to->needed = text.size();
  if (to->buffer == nullptr || to->capacity <= text.size()) return {};
  std::memcpy(to->buffer, text.data(), text.size());
  to->buffer[text.size()] = 0;
  return {};
}

}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

const char* diecast_version(void) { return library_version().data(); }

const char* diecast_code_word(std::int32_t code) {
  switch (code) {
#define DIECAST_C_WORD_OF(number, word) \
  case number:                          \
    return #word;
    DIECAST_C_CODES(DIECAST_C_WORD_OF)
#undef DIECAST_C_WORD_OF
  }
  return "unknown";
}

std::int32_t diecast_last_error(diecast_error* error) {
  diecast_error told{sizeof(diecast_error), 0, "", "", ""};
  if (last != nullptr) {
    const std::int32_t code = code_of(last->code);
    told = {sizeof told, code, diecast_code_word(code), last->what.c_str(), last->fix.c_str()};
  }
  // Not by fail(): the error that is asked for would be lost.
  if (error == nullptr || !write_structure(error, &told, sizeof told, "error"))
    return diecast_invalid_argument;
  return diecast_ok;
}

}  // extern "C"
