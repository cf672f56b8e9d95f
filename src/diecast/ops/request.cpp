// The texts of requests in messages; see request.h.
#include <diecast/base/text.h>
#include <diecast/ops/request.h>

namespace diecast::request_detail {

std::string text_of(std::int64_t number) { return cat(number); }

std::string in_lower_case(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Error not_a_value(std::string_view op, std::string_view field, std::int64_t number) {
  return {ErrorCode::value_not_allowed,
          cat(op, ": ", in_lower_case(field), " = ", number, " is no value of its enum"),
          "set every option to a value that its enum names"};
}

Error not_as_prepared(std::string_view op, std::string_view operand, const std::string& prepared,
                      const std::string& given) {
  return {ErrorCode::not_supported,
          cat(op, ": prepared for ", prepared, "; ", operand, " has ", given),
          cat("prepare another op for ", operand == "out" ? "this output" : "this input")};
}

}  // namespace diecast::request_detail
