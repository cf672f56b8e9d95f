// Expressions are compiled once: a model has tens of thousands of names; see name_patterns.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/name_patterns.h>
#include <diecast/checkpoint/verify/python_expression.h>

#include <algorithm>

namespace diecast {

Result<void> NamePatterns::add(const std::string& entry) {
  constexpr std::string_view kExpression = "re:";
  if (!entry.starts_with(kExpression)) {
    names_.insert(entry);
    return {};
  }
  DIECAST_TRY(const std::string posix,
              posix_expression(std::string_view(entry).substr(kExpression.size())));
  regex_t compiled;
  if (::regcomp(&compiled, cat("^(", posix, ")").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return Error{ErrorCode::not_supported,
                 cat("the expression ", quote(entry, 80), " is none that Python takes"),
                 "correct the list of modules in the model's config"};
  expressions_.emplace_back(new regex_t(compiled), [](const regex_t* each) {
    ::regfree(const_cast<regex_t*>(each));
    delete each;
  });
  return {};
}

bool NamePatterns::match(const std::string& name) const {
  return names_.contains(name) || std::ranges::any_of(expressions_, [&](const auto& each) {
           return ::regexec(each.get(), name.c_str(), 0, nullptr, 0) == 0;
         });
}

}  // namespace diecast
