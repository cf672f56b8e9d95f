// The one error model of diecast: every function that can fail returns a Result, and every Error
// has a code, says what happened with the values, and ends in a fix. Nothing in this header throws
// except Result::value() of an error; in a program that is compiled without exceptions it aborts.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace diecast {

// The table of codes. The word is stable: programs may match on it (`code_word`).
#define DIECAST_ERROR_CODES(X)                                                                 \
  X(invalid_argument, "a call's argument makes no sense by itself")                            \
  X(parse_error, "a text (template header, expression, spelling, manifest) does not parse")    \
  X(unknown_template, "no template has this name")                                             \
  X(unknown_parameter, "the template has no such parameter, size or argument")                 \
  X(unknown_target, "not a target diecast knows")                                              \
  X(value_not_allowed, "a parameter's value is outside what the template allows")              \
  X(value_missing, "a parameter without a default was not given")                              \
  X(constraint_violated, "a `require` of the template does not hold")                          \
  X(target_not_supported, "the template, compiler or device cannot serve this target")         \
  X(compiler_unavailable, "no compiler for the target was found")                              \
  X(compile_failed, "the compiler rejected the source")                                        \
  X(not_cached, "the artifact is in no cache root and compiling is not allowed")               \
  X(frozen, "a compile or a device load was needed after freeze()")                            \
  X(not_resident, "a kernel is not resident where it is needed (e.g. during stream capture)")  \
  X(driver_unavailable, "the CUDA driver library cannot be used")                              \
  X(driver_error, "a CUDA driver call failed")                                                 \
  X(no_device, "there is no such device")                                                      \
  X(out_of_memory, "host or device memory ran out")                                            \
  X(shape_mismatch, "a tensor's shape or a buffer's size is not what the operation needs")     \
  X(dtype_mismatch, "a tensor's element type is not what the operation needs")                 \
  X(misaligned, "a pointer or row stride breaks an alignment the kernel assumes")              \
  X(missing_buffer, "a required buffer is null")                                               \
  X(not_supported, "a meaningful combination that this operation does not offer")              \
  X(results_differ, "a tune changes what a kernel computes")                                   \
  X(nonfinite_values, "NaN or infinity where the caller asked for finite values")              \
  X(divergent_barrier, "some threads of a block never reached a barrier or warp exchange")     \
  X(assertion_failed, "an assert of a kernel does not hold")                                   \
  X(io_error, "the operating system refused a file, descriptor or process")                    \
  X(file_not_found, "a file does not exist")                                                   \
  X(file_exists, "a file is in the way")                                                       \
  X(file_corrupt, "a file's content breaks its format")                                        \
  X(unsafe_directory, "a directory's owner or permissions do not protect what is run from it") \
  X(timed_out, "a bounded wait or a child process ran out of time")                            \
  X(process_failed, "a child process could not run or ended with an error")                    \
  X(internal, "diecast is wrong about itself; please report it")

enum class ErrorCode {
#define DIECAST_CODE(name, text) name,
  DIECAST_ERROR_CODES(DIECAST_CODE)
#undef DIECAST_CODE
};

// The code's stable word ("constraint_violated") and its meaning in one line.
std::string_view code_word(ErrorCode code);
std::string_view code_meaning(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;  // what happened, with the values; may have several lines
  std::string fix;   // a value, a file, a command or an option that mends it

  // "diecast: <code>: <what>\n  fix: <fix>"; later lines of `what` are indented by two spaces.
  std::string message() const;
  // Finds the last message in text that another process printed; none if it printed none.
  static std::optional<Error> parse(std::string_view printed);
};

// value() of an error calls this. It throws, or aborts in a program without exceptions.
[[noreturn]] inline void throw_error(const Error& error) {
#if defined(__cpp_exceptions)
  throw std::runtime_error(error.message());
#else
  std::fprintf(stderr, "%s\n", error.message().c_str());
  std::abort();
#endif
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Returns the value. An error throws std::runtime_error with the whole message; without
  // exceptions it prints that and aborts. A temporary gives the value itself and no reference into
  // it, so that `for (auto& x : call().value())` is safe.
  T& value() & { return checked(), std::get<0>(state_); }
  const T& value() const& { return checked(), std::get<0>(state_); }
  T value() && { return checked(), std::get<0>(std::move(state_)); }

  // These may be called only if ok().
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // These may be called only if !ok().
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  void checked() const {
    if (!ok()) throw_error(error());
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() {}  // not `= default`: `return {}` would then clear the bytes of an Error first
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (!ok()) throw_error(error());
  }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace diecast

#define DIECAST_JOIN_(a, b) a##b
#define DIECAST_JOIN(a, b) DIECAST_JOIN_(a, b)

// DIECAST_TRY(auto x, f()) sets x to the value of f(), or returns its error from this function.
// Several may stand on one line.
#define DIECAST_TRY(declaration, ...) \
  DIECAST_TRY_(DIECAST_JOIN(try_, __COUNTER__), declaration, __VA_ARGS__)
#define DIECAST_TRY_(tried, declaration, ...) \
  auto tried = (__VA_ARGS__);                 \
  if (!tried) [[unlikely]]                    \
    return std::move(tried).error();          \
  declaration = *std::move(tried)

// DIECAST_CHECK(f()) goes on, or returns the error of f() (a Result<void>) from this function.
#define DIECAST_CHECK(...)                                             \
  do {                                                                 \
    if (auto check_result = (__VA_ARGS__); !check_result) [[unlikely]] \
      return std::move(check_result).error();                          \
  } while (false)
