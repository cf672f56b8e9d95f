// Expressions are compiled once: a model has tens of thousands of names; see name_patterns.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/name_patterns.h>

#include <algorithm>

namespace diecast {
namespace {

// What may take longer than its length: repetitions by number, and references back.
bool is_costly(const std::string& expression) {
  constexpr std::size_t kLongest = 1000;
  for (std::size_t i = 0; i + 1 < expression.size(); ++i)
    if (expression[i] == '\\' && expression[i + 1] >= '0' && expression[i + 1] <= '9') return true;
  return expression.size() > kLongest || expression.find('{') != expression.npos;
}

}  // namespace

void NamePatterns::add(const std::string& entry) {
  constexpr std::string_view kExpression = "re:";
  if (!entry.starts_with(kExpression)) {
    names_.insert(entry);
    return;
  }
  const std::string expression = entry.substr(kExpression.size());
  if (is_costly(expression)) return;
  regex_t compiled;
  if (::regcomp(&compiled, cat("^(", expression, ")").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return;
  expressions_.emplace_back(new regex_t(compiled), [](const regex_t* each) {
    ::regfree(const_cast<regex_t*>(each));
    delete each;
  });
}

bool NamePatterns::match(const std::string& name) const {
  return names_.contains(name) || std::ranges::any_of(expressions_, [&](const auto& each) {
           return ::regexec(each.get(), name.c_str(), 0, nullptr, 0) == 0;
         });
}

}  // namespace diecast
