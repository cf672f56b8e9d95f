// Laying out a kernel's parameters as C++ does: each on the next multiple of its size.
#include <diecast/launch/kernel/launch_words.h>

#include <algorithm>

namespace diecast {

LaunchPlaces LaunchPlaces::of(const Specialization& specialization) {
  LaunchPlaces places;
  const auto& arguments = specialization.arguments();
  const std::size_t count = std::min(arguments.size(), LaunchWords::kMostArguments);
  constexpr std::size_t kFirst = LaunchWords::kParameters * sizeof(std::int64_t);
  std::size_t bytes = 0;
  const auto parameter = [&bytes](std::size_t size) {
    bytes = (bytes + size - 1) / size * size + size;
    return static_cast<Place>(kFirst + bytes - size);
  };
  std::array<bool, LaunchWords::kMostArguments> looked_at{};  // the number, which is no parameter
  for (std::size_t i = 0; i < count; ++i) {
    const BoundArgument& argument = arguments[i];
    auto& [data, number] = places.of_[i];
    switch (argument.kind) {
      case Argument::Kind::tensor:
        data = parameter(sizeof(void*));
        if (argument.stride) number = parameter(sizeof(std::int64_t));
        looked_at[i] = !argument.stride && argument.shape.size() > 1;
        break;
      case Argument::Kind::size:
        looked_at[i] = argument.fixed;
        if (argument.fixed) break;
        if (argument.device) data = parameter(sizeof(void*));
        number = parameter(sizeof(std::int64_t));
        break;
      case Argument::Kind::scalar:
        number = parameter(static_cast<std::size_t>(dtype_bits(argument.dtype) / 8));
        break;
      default:  // bytes of the caller's: such a kernel is launched by its arguments alone
        break;
    }
  }
  places.parameter_bytes_ = bytes;
  const auto round_up = [](std::size_t at) { return (at + 7) / 8 * 8; };
  places.nowhere_ = static_cast<Place>(kFirst + round_up(bytes));
  Place behind = places.nowhere_;
  for (std::size_t i = 0; i < LaunchWords::kMostArguments; ++i) {
    if (looked_at[i]) places.of_[i][1] = behind = static_cast<Place>(behind + 8);
    for (Place& place : places.of_[i])
      if (place == 0) place = places.nowhere_;
  }
  return places;
}

}  // namespace diecast
