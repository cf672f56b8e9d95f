// Whether a launch is like one that is kept; see recall_launch.h.
#include <diecast/c/kernel_arguments.h>
#include <diecast/c/recall_launch.h>
#include <diecast/c/tensor_numbers.h>
#include <diecast/c/tensors.h>

#include <algorithm>
#include <cstring>

namespace diecast::c {
namespace {

constexpr std::uintptr_t kAlignment = 16;  // of any element's type
constexpr int kMostDimensions = 6;         // of a tensor that is kept

}  // namespace

[[gnu::hot]] std::size_t launch_place(std::uint64_t kernel,
                                      std::span<const diecast_argument> given) {
  std::uint64_t place = kernel;
  for (const diecast_argument& one : given) {
    if (one.kind != DIECAST_TENSOR || one.tensor == nullptr || one.tensor->shape == nullptr)
      continue;
    if (one.tensor->ndim > 0) place += static_cast<std::uint64_t>(one.tensor->shape[0]) * 5;
    break;
  }
  return place % kLaunches;
}

void RecalledLaunch::keep(std::uint64_t kernel, const Kernel& of,
                          std::span<const diecast_argument> given,
                          std::span<const KernelArgument> values) {
  kernel_ = 0;
  if (given.size() > kArguments || values.size() > kArguments) return;
  given_count_ = 0;
  std::copy(values.begin(), values.end(), values_.begin());
  std::size_t numbers = 0;
  for (const diecast_argument& one : given)
    if (!keep_one(of, one, numbers)) return;
  value_count_ = values.size();
  kernel_ = kernel;
}

bool RecalledLaunch::keep_one(const Kernel& of, const diecast_argument& given,
                              std::size_t& numbers) {
  if (std::strlen(given.name) >= kLetters || given.kind == DIECAST_DEVICE_SIZE) return false;
  Given& kept = given_[given_count_++];
  std::strcpy(kept.name.data(), given.name);
  kept.kind = given.kind;
  kept.integer = given.integer;
  const auto& wanted = of.specialization().arguments();
  kept.at = 0;
  while (wanted[kept.at].name != given.name) ++kept.at;
  if (given.kind != DIECAST_TENSOR) return true;
  if (given.tensor->data == nullptr || given.tensor->ndim > kMostDimensions) return false;
  const auto extent = check_tensor(*given.tensor, {});
  if (!extent) return false;
  kept.extent = extent->rows == 0 ? 0 : (extent->rows - 1) * extent->pitch + extent->width;
  kept.written = wanted[kept.at].direction != Argument::Direction::in;
  return each_number(*given.tensor, [&](std::uint64_t number) {
    if (numbers == kNumbers) return false;
    numbers_[numbers++] = number;
    return true;
  });
}

[[gnu::hot]] std::span<const KernelArgument> RecalledLaunch::take(
    std::uint64_t kernel, std::span<const diecast_argument> given) {
  if (kernel != kernel_ || given.size() != given_count_) return {};
  if (take_all(given)) return {values_.data(), value_count_};
  kernel_ = 0;  // its addresses are of two launches
  return {};
}

[[gnu::hot]] bool RecalledLaunch::take_all(std::span<const diecast_argument> given) {
  const std::uint64_t* expected = numbers_.data();
  moved_ = false;
  for (std::size_t i = 0; i < given_count_; ++i)
    if (!take_one(given_[i], given[i], expected)) return false;
  return !moved_ || is_apart();
}

// What lies within another's bytes may still lie between its rows: the full check says.
[[gnu::hot]] bool RecalledLaunch::is_apart() const {
  const auto address = [&](std::size_t i) {
    return static_cast<const char*>(values_[given_[i].at].data);
  };
  for (std::size_t i = 0; i < given_count_; ++i) {
    if (!given_[i].written) continue;
    for (std::size_t j = 0; j < given_count_; ++j) {
      if (j != i && given_[j].kind == DIECAST_TENSOR &&
          address(i) < address(j) + given_[j].extent && address(j) < address(i) + given_[i].extent)
        return false;
    }
  }
  return true;
}

[[gnu::hot]] bool RecalledLaunch::take_one(const Given& kept, const diecast_argument& given,
                                           const std::uint64_t*& expected) {
  if (given.kind != kept.kind || given.name == nullptr ||
      std::strcmp(given.name, kept.name.data()) != 0)
    return false;
  KernelArgument& value = values_[kept.at];
  if (given.kind == DIECAST_TENSOR) {
    if (given.tensor == nullptr || given.tensor->data == nullptr ||
        !each_number(*given.tensor, [&](std::uint64_t number) { return number == *expected++; }))
      return false;
    const char* const address = address_of(*given.tensor);
    moved_ |= value.data != address;
    value.data = address;
    return reinterpret_cast<std::uintptr_t>(address) % kAlignment == 0;
  }
  if (value.kind == KernelArgument::Kind::scalar) {
    const auto read = scalar_of({}, value.dtype, given);
    if (read) value = *read;
    return static_cast<bool>(read);
  }
  if (given.kind == DIECAST_BYTES) value.data = given.bytes;
  return given.integer == kept.integer;
}

}  // namespace diecast::c
