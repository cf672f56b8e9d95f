// A request says what an op is prepared for: a plain value whose fields are named once, in
// `fields`:
//
//   struct QuantizeMxRequest {
//     static constexpr std::string_view kName = "quantize_mx";
//     DType in = DType::bf16;
//     std::int64_t cols = 0;
//     template <class Self, class As>
//     static constexpr void fields(Self& self, As&& as) { as("IN", self.in), as("COLS", self.cols);
//     }
//   };
//
// Names are those of the kernels' templates. UPPER CASE is compiled in where a kernel has such a
// parameter; lower case is the op's own. Equality, hash, bindings and messages follow from
// `fields`.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/template/value.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace diecast {

template <class T>
concept IsRequest = requires(const T& request) {
  { T::kName } -> std::convertible_to<std::string_view>;
  T::fields(request, [](std::string_view, const auto&) {});
};

namespace request_detail {

template <class Field>
constexpr std::size_t bits_of() {
  return 8 * sizeof(Field);
}

// Puts each field into the words in its whole width, none across two words. Every step is known at
// compile time, so that it comes to a few shifts.
struct Packing {
  std::uint64_t* words;
  std::size_t at = 0;

  template <class Field>
  constexpr void operator()(std::string_view, const Field& field) {
    constexpr std::size_t bits = bits_of<Field>();
    if (at % 64 + bits > 64) at += 64 - at % 64;
    if (words != nullptr) {
      using Plain =
          std::make_unsigned_t<std::conditional_t<std::is_same_v<Field, bool>, char, Field>>;
      words[at / 64] |= std::uint64_t{static_cast<Plain>(field)} << (at % 64);
    }
    at += bits;
  }
};

template <class Request>
constexpr std::size_t word_count() {
  Packing counting{nullptr};
  const Request request{};
  Request::fields(request, counting);
  return (counting.at + 63) / 64;
}

std::string text_of(std::int64_t number);
Error not_a_value(std::string_view op, std::string_view field, std::int64_t number);
Error not_as_prepared(std::string_view op, std::string_view operand, const std::string& prepared,
                      const std::string& given);
std::string in_lower_case(std::string_view name);

// A field as a parameter's value, and as text.
template <class Field>
Value value_of(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>)
    return Value::boolean(field);
  else if constexpr (std::is_same_v<Field, DType>)
    return Value::of(field);
  else if constexpr (std::is_enum_v<Field>)
    return {ParameterType::enumeration, static_cast<std::int64_t>(field), std::string(word(field))};
  else
    return Value::integer(static_cast<std::int64_t>(field));
}
template <class Field>
std::string text_of_field(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>)
    return field ? "true" : "false";
  else if constexpr (std::is_same_v<Field, DType>)
    return std::string(dtype_name(field));
  else if constexpr (std::is_enum_v<Field>)
    return std::string(word(field));
  else
    return text_of(static_cast<std::int64_t>(field));
}

template <class Field>
constexpr bool is_a_value(const Field& field) {
  if constexpr (HasWords<Field>)
    return is_value(field);
  else  // a tensor's element type is checked with the tensor
    return true;
}

}  // namespace request_detail

// All fields of a request and nothing else: two requests are equal where their words are.
template <IsRequest Request>
using RequestWords = std::array<std::uint64_t, request_detail::word_count<Request>()>;

// All in one piece of code: there the places of the fields are constants.
template <IsRequest Request>
[[gnu::flatten]] constexpr RequestWords<Request> words_of_request(const Request& request) {
  RequestWords<Request> words{};
  Request::fields(request, request_detail::Packing{words.data()});
  return words;
}

template <IsRequest Request>
constexpr bool operator==(const Request& a, const Request& b) {
  return words_of_request(a) == words_of_request(b);
}

// Words are multiplied side by side, not one after another: a call waits for the hash.
template <std::size_t kCount>
constexpr std::uint64_t hash_of_words(const std::array<std::uint64_t, kCount>& words) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kCount; ++i) hash += words[i] * (kMix * (2 * i + 1) | 1);
  return (hash ^ hash >> 32) * kMix;
}

// The same request for rows of any length: where it has a field COLS, that is 0.
template <IsRequest Request>
constexpr Request of_any_length(Request request) {
  Request::fields(request, [](std::string_view name, auto&& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, std::int64_t>)
      if (name == "COLS") field = 0;
  });
  return request;
}

// A request's fields that a kernel may have parameters for.
template <IsRequest Request>
Bindings compiled_fields(const Request& request) {
  Bindings out;
  Request::fields(request, [&](std::string_view name, const auto& field) {
    if (name[0] < 'a') out.set(std::string(name), request_detail::value_of(field));
  });
  return out;
}

// That every field with words has one of them. Errors: value_not_allowed, naming the field.
template <IsRequest Request>
Result<void> check_values(const Request& request) {
  std::optional<Error> wrong;
  Request::fields(request, [&](std::string_view name, const auto& field) {
    if (wrong || request_detail::is_a_value(field)) return;
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(field)>>)
      wrong = request_detail::not_a_value(Request::kName, name, static_cast<std::int64_t>(field));
  });
  if (wrong) return *std::move(wrong);
  return {};
}

// not_supported: `operand` ("out") asks for another request than the op was prepared for. The
// message has the fields that differ, as "prepared for layout = linear, out has layout = s128x4".
template <IsRequest Request>
[[gnu::cold]] Error not_as_prepared(std::string_view op, std::string_view operand,
                                    const Request& prepared, const Request& asked) {
  std::string ours, theirs;
  Request::fields(prepared, [&, at = std::size_t{0}](std::string_view name, const auto& a) mutable {
    std::size_t other = 0;
    Request::fields(asked, [&](std::string_view, const auto& b) {
      if (other++ != at) return;
      const std::string mine = request_detail::text_of_field(a);
      const std::string its = request_detail::text_of_field(b);
      if (mine == its) return;
      const std::string lower = request_detail::in_lower_case(name);
      ours += (ours.empty() ? "" : ", ") + lower + " = " + mine;
      theirs += (theirs.empty() ? "" : ", ") + lower + " = " + its;
    });
    ++at;
  });
  return request_detail::not_as_prepared(op, operand, ours, theirs);
}

}  // namespace diecast
