// Building what a launch's quick half goes through.
#include <diecast/launch/kernel/quick_arguments.h>

namespace diecast {

void QuickArguments::add(const Rule& data, const Rule& number) {
  if (count_ == checks_.size()) checks_.emplace_back();
  Check& check = checks_[count_++];
  check.least = Two{data.least, number.least};
  check.mask = Two{data.mask, number.mask};
}

// As the C++ of kernels has it: each on the next multiple of its size.
void QuickArguments::put(std::size_t number, std::size_t bytes) {
  bytes_ = (bytes_ + bytes - 1) / bytes * bytes;
  checks_[number / 2].places[number % 2] = static_cast<Place>(ParameterBlock::kBegin + bytes_);
  bytes_ += bytes;
}

QuickArguments::Place QuickArguments::place(std::size_t number) const {
  return checks_[number / 2].places[number % 2];
}

}  // namespace diecast
