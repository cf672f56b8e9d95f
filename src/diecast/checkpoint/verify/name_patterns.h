// A list of modules as compressed-tensors writes it: whole names, and after "re:" expressions that
// a name must begin with a match of.
#pragma once

#include <regex.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace diecast {

class NamePatterns {
 public:
  // An expression that POSIX does not know, or that costs more than a name is worth, matches
  // nothing.
  void add(const std::string& entry);
  bool match(const std::string& name) const;

 private:
  std::set<std::string> names_;
  std::vector<std::shared_ptr<const regex_t>> expressions_;
};

}  // namespace diecast
