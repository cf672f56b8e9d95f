// Building what a launch's quick half goes through.
#include <diecast/launch/kernel/quick_arguments.h>

namespace diecast {

void QuickArguments::add(Place place, const Rule& rule) {
  if (rule.mask == 0) return;
  const std::size_t word = place / sizeof(std::uint64_t) - LaunchWords::kParameters;
  if (checks_.size() <= word / 2) checks_.resize(word / 2 + 1);
  Check& check = checks_[word / 2];
  check.least[word % 2] = rule.least;
  check.mask[word % 2] = rule.mask;
}

}  // namespace diecast
