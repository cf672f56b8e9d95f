// An environment variable that has a value for the time of a test.
#pragma once

#include <cstdlib>
#include <string>

namespace diecast::testing {

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  ~Variable() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

}  // namespace diecast::testing
