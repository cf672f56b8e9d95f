// A list of modules as compressed-tensors writes it: whole names, and after "re:" expressions of
// Python that a name must begin with a match of.
#pragma once

#include <diecast/base/error.h>
#include <regex.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace diecast {

class NamePatterns {
 public:
  // Errors: not_supported (an expression that posix_expression does not take, or not as POSIX).
  Result<void> add(const std::string& entry);
  bool match(const std::string& name) const;

 private:
  std::set<std::string> names_;
  std::vector<std::shared_ptr<const regex_t>> expressions_;
};

}  // namespace diecast
