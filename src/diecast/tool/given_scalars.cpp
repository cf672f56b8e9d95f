// Reading the values of scalars; see given_scalars.h.
#include <diecast/base/text.h>
#include <diecast/tool/given_scalars.h>

#include <algorithm>

namespace diecast::tool {
namespace {

struct Word {
  std::string_view name, value;
};

Word split_word(std::string_view given) {
  const std::size_t equals = given.find('=');
  if (equals == std::string_view::npos) return {};
  return {given.substr(0, equals), given.substr(equals + 1)};
}

const BoundArgument* scalar_named(const Specialization& kernel, std::string_view name) {
  const auto found = std::ranges::find_if(kernel.arguments(), [&](const BoundArgument& argument) {
    return argument.kind == Argument::Kind::scalar && argument.name == name;
  });
  return found == kernel.arguments().end() ? nullptr : &*found;
}

}  // namespace

Result<GivenArguments> scalars_of(const Specialization& kernel,
                                  const std::vector<std::string>& given) {
  GivenArguments out;
  for (const std::string& each : given) {
    const Word word = split_word(each);
    const BoundArgument* const argument = scalar_named(kernel, word.name);
    if (argument == nullptr) continue;
    const auto value = parse_scalar(word.value, argument->dtype);
    if (!value) {
      return Error{ErrorCode::invalid_argument,
                   cat("--scalar ", each, ": ", quote(word.value), " is no ",
                       dtype_name(argument->dtype), ", as ", kernel.tmpl().name(), " has it"),
                   "scalars of numbers are given as decimals that fit: all but bf16, f16 and the "
                   "8-bit floats"};
    }
    out.emplace_back(word.name, *value);
  }
  DIECAST_CHECK(check_given(kernel.tmpl(), out));
  return out;
}

Result<void> check_scalars_of(std::span<const Specialization> kernels,
                              const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const Specialization& kernel : kernels) {
    for (const BoundArgument& argument : kernel.arguments()) {
      if (argument.kind == Argument::Kind::scalar && std::ranges::count(names, argument.name) == 0)
        names.push_back(argument.name);
    }
  }
  for (const std::string& each : given) {
    const Word word = split_word(each);
    if (word.name.empty()) {
      return Error{ErrorCode::invalid_argument, cat(quote(each), " is no scalar"),
                   "write it as --scalar eps=1e-5"};
    }
    if (std::ranges::find(names, word.name) == names.end()) {
      return Error{
          ErrorCode::unknown_parameter,
          cat("--scalar: no scalar is named ", quote(word.name), did_you_mean(word.name, names)),
          names.empty() ? std::string("leave it out: there are no scalars")
                        : cat("the scalars are ", join(names, ", "))};
    }
  }
  for (const Specialization& kernel : kernels) DIECAST_CHECK(scalars_of(kernel, given));
  return {};
}

}  // namespace diecast::tool
