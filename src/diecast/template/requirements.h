// The requirements of a template as compiled programs over a point of its space, the lets that they
// name, and what its `divisible` sizes ask of the parameters that fix them: one parse serves the
// check of a specialization, the enumeration of the space and the search for the nearest values
// that fit. Not a public header.
#pragma once

#include <diecast/template/template.h>

#include <map>
#include <vector>

namespace diecast {

using Constants = std::map<std::string, std::int64_t, std::less<>>;
Names lookup(const Constants& constants);  // which must outlive it

// What a template's expressions can name besides parameters and sizes: host, cc, element types,
// their bits ("bits:bf16") and enumerators (LAYOUT_linear).
Constants constants_of(const Template& tmpl, const Target& target);

// What a condition names, in order and each once, and what the lets among that name in turn.
struct Named {
  std::vector<int> parameters, lets;
  bool host = false, cc = false;
};

Named named_in(const Template& tmpl, const Expression& condition);

// A point: one number a parameter, in declaration order.
using Point = std::vector<std::int64_t>;

class Requirements {
 public:
  // Errors: internal (the parser has checked the names).
  static Result<Requirements> compile(const Template& tmpl, const Target& target);
  // The first that does not hold (or has no value there), or -1; the divisors come after the
  // requirements, see divided(), and after them the lets, each of which must have a value.
  int first_broken(const Point& point);
  // The last parameter that what first_broken() gave looks at: points that agree up to it break it
  // alike.
  std::size_t last_parameter(int index) const;
  // What first_broken() found to be no multiple: a size (of Template::sizes) and its divisor there.
  struct Divided {
    std::size_t size;
    std::int64_t divisor;
  };
  Divided divided(int index) const;
  bool is_let(int index) const {
    return static_cast<std::size_t>(index) >= programs_.size() + divisors_.size();
  }
  std::size_t let(int index) const {  // of Template::lets
    return static_cast<std::size_t>(index) - programs_.size() - divisors_.size();
  }

 private:
  int evaluate_lets(std::size_t count);
  struct Divisor {
    Program program;
    std::size_t size, fixed_by;  // fixed_by: the parameter that is a multiple of it, or 0
  };
  std::vector<Program> programs_;
  std::vector<Divisor> divisors_;
  std::vector<Program> lets_;             // their values follow the types' bits
  std::size_t known_lets_ = 0;            // at the point that is looked at
  std::vector<std::size_t> last_;         // parameter of each program
  std::vector<std::size_t> needed_lets_;  // by each program: the first so many
  std::size_t parameters_ = 0;
  std::vector<int> types_;  // parameters of type `type`, whose bits follow the point
  std::vector<std::int64_t> slots_;
};

// constraint_violated for what first_broken() gave at a point: line, values, nearest values that
// fit.
Error broken_requirement(const Template& tmpl, const Target& target, Requirements& requirements,
                         int index, const Point& point);

}  // namespace diecast
