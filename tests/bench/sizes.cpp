// Run-time sizes that stand for a matrix; see sizes.h.
#include "bench/sizes.h"

namespace diecast::tool {

std::optional<RunSizes> matrix_sizes(const Specialization& one, BenchShape shape,
                                     std::int64_t depth) {
  const Template& tmpl = one.tmpl();
  const bool matrix = tmpl.size("rows") != nullptr;
  RunSizes sizes;
  for (const std::string& name : free_sizes(one)) {
    std::int64_t value = 0;
    if (name == "depth") {
      value = depth;
    } else if (is_absent_size(tmpl, name) ||
               (name == "count" && matrix && tmpl.parameter("GROUPED") != nullptr)) {
      value = 0;  // members, of which one matrix has none
    } else if (name == "rows" || name == "new_rows") {
      value = shape.rows;
    } else if (name == "cols") {
      value = shape.cols;
    } else if (name == "batch") {
      value = 1;
    } else if (name == "count" && !matrix) {
      value = shape.rows * shape.cols;
    } else {
      return std::nullopt;
    }
    sizes.emplace_back(name, value);
  }
  return sizes;
}

}  // namespace diecast::tool
