// Building what a launch's quick half goes through.
#include <diecast/launch/kernel/quick_arguments.h>

namespace diecast {

void QuickArguments::add(std::size_t argument, const Rule& data, const Rule& number) {
  if ((data.mask | number.mask) == 0) return;
  checks_.resize(argument + 1);
  checks_[argument].least = Two{data.least, number.least};
  checks_[argument].mask = Two{data.mask, number.mask};
}

}  // namespace diecast
