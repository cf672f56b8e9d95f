// The fields of a request as parameters that a line of text may set, by their names in lower case.
// Not a public header.
#pragma once

#include <diecast/base/text.h>
#include <diecast/ops/request.h>
#include <diecast/runtime/manifest_line.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace diecast {

// Of kind `shape`, whose integers are 0 or more.
template <class Field>
Parameter parameter_of(std::string_view name) {
  Parameter out;
  out.kind = Parameter::Kind::shape;
  out.name = request_detail::in_lower_case(name);
  if constexpr (std::is_same_v<Field, bool>) {
    out.type = ParameterType::boolean;
  } else if constexpr (std::is_same_v<Field, DType>) {
    out.type = ParameterType::type;
    for (const std::string& word : dtype_names())
      out.allowed.push_back(Value::of(*parse_dtype(word)));
  } else if constexpr (std::is_enum_v<Field>) {
    out.type = ParameterType::enumeration;
    for (std::size_t i = 0; i < words_of(Field{}).size(); ++i)
      out.allowed.push_back(request_detail::value_of(static_cast<Field>(i)));
  } else {
    out.type = ParameterType::integer;
  }
  return out;
}

template <IsRequest Request>
std::vector<Parameter> parameters_of() {
  std::vector<Parameter> out;
  const Request request{};
  Request::fields(request, [&]<class Field>(std::string_view name, const Field&) {
    out.push_back(parameter_of<Field>(name));
  });
  return out;
}

// The request of one combination of choices; fields without a choice have their defaults. Errors:
// value_not_allowed for a number that its field does not hold.
template <IsRequest Request>
Result<Request> request_of(const Choices& choices, std::span<const std::size_t> index) {
  Request request{};
  Result<void> held;
  Request::fields(request, [&]<class Field>(std::string_view name, Field& field) {
    const std::string lower = request_detail::in_lower_case(name);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].first != lower) continue;
      const std::int64_t number = choices[i].second[index[i]].number;
      field = static_cast<Field>(number);
      if (static_cast<std::int64_t>(field) == number) continue;
      held = Error{ErrorCode::value_not_allowed, cat(lower, " cannot be ", number),
                   cat("give ", lower, " a smaller number")};
    }
  });
  if (!held) return held.error();
  return request;
}

}  // namespace diecast
