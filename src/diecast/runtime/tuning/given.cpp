// Finding, checking and spelling given arguments; see given.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/given.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace diecast {
namespace {

template <class T>
std::optional<KernelArgument> read_scalar(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return KernelArgument::scalar(value);
}

}  // namespace

const KernelArgument* find_given(const GivenArguments& given, std::string_view name) {
  const auto found =
      std::ranges::find_if(given, [&](const auto& one) { return one.first == name; });
  return found == given.end() ? nullptr : &found->second;
}

Result<void> check_given(const Template& tmpl, const GivenArguments& given) {
  for (const auto& one : given) {
    const std::string& name = one.first;
    const Argument* const argument = tmpl.argument(name);
    if (argument == nullptr) {
      std::vector<std::string> names;
      for (const Argument& each : tmpl.arguments()) names.push_back(each.name);
      return Error{ErrorCode::unknown_parameter,
                   cat(tmpl.name(), " has no argument ", quote(name), did_you_mean(name, names)),
                   cat("its arguments are ", join(names, ", "))};
    }
    const auto refused = [&](std::string_view why, std::string_view fix) {
      return Error{ErrorCode::invalid_argument, cat(tmpl.name(), ": ", name, " ", why),
                   std::string(fix)};
    };
    if (find_given(given, name) != &one.second) return refused("is given twice", "give it once");
    if (argument->kind == Argument::Kind::size)
      return refused("is a size, which a kernel is measured at", "give it among the sizes");
    if (argument->kind == Argument::Kind::tensor && argument->direction != Argument::Direction::in)
      return refused("is written, and compared by who tunes", "give only what is read");
  }
  return {};
}

std::optional<KernelArgument> parse_scalar(std::string_view text, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return read_scalar<float>(text);
    case DType::i32:
      return read_scalar<std::int32_t>(text);
    case DType::u32:
      return read_scalar<std::uint32_t>(text);
    case DType::i64:
      return read_scalar<std::int64_t>(text);
    case DType::u64:
      return read_scalar<std::uint64_t>(text);
    case DType::f64:
      return read_scalar<double>(text);
    case DType::i8:
      return read_scalar<std::int8_t>(text);
    case DType::u8:
      return read_scalar<std::uint8_t>(text);
    case DType::u16:
      return read_scalar<std::uint16_t>(text);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> scalar_text(const KernelArgument& argument) {
  if (argument.kind != KernelArgument::Kind::scalar) return std::nullopt;
  std::string text = cat(argument.number);
  if (argument.dtype == DType::f32)
    text = cat(std::bit_cast<float>(static_cast<std::int32_t>(argument.number)));
  if (argument.dtype == DType::f64) text = cat(std::bit_cast<double>(argument.number));
  if (argument.dtype == DType::u64) text = cat(static_cast<std::uint64_t>(argument.number));
  const auto again = parse_scalar(text, argument.dtype);
  if (!again || again->number != argument.number) return std::nullopt;
  return text;
}

}  // namespace diecast
