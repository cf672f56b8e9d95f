// Building what a launch's quick half goes through.
#include <diecast/launch/kernel/quick_arguments.h>

namespace diecast {

void QuickArguments::add(const Rule& data, const Rule& number) {
  if (count_ == checks_.size()) checks_.resize(count_ + kStep);
  checks_[count_++] = Check{.least = Two{data.least, number.least},
                            .high = Two{data.high, number.high},
                            .low = Two{data.low, number.low}};
}

void QuickArguments::add_parameter(std::size_t number) {
  if (parameters_ == 2 * places_.size()) places_.resize(places_.size() + kStep);
  places_[parameters_ / 2].at[parameters_ % 2] = number * sizeof(std::int64_t);
  ++parameters_;
}

}  // namespace diecast
