// Launching by the names of a template's `arg` lines.
#include <diecast/base/text.h>
#include <diecast/launch/kernel.h>

#include <bitset>

namespace diecast {
namespace {

std::vector<std::string> names_of(const Specialization& specialization) {
  std::vector<std::string> names;
  for (const BoundArgument& argument : specialization.arguments()) names.push_back(argument.name);
  return names;
}

Error wrong_names(const Specialization& specialization, std::string_view what,
                  std::string_view name, std::string_view meant = "") {
  return {ErrorCode::invalid_argument,
          cat(specialization.spelling(), ": ", what, " `", name, "`", meant),
          cat("give each of these once: ", join(names_of(specialization), ", "))};
}

}  // namespace

Result<void> Kernel::launch(std::initializer_list<NamedArgument> arguments, Stream stream) const {
  const auto& wanted = specialization_.arguments();
  std::array<KernelArgument, LaunchWords::kMostArguments> in_order;
  std::bitset<LaunchWords::kMostArguments> given;
  for (const auto& [name, value] : arguments) {
    std::size_t at = 0;
    while (at < wanted.size() && wanted[at].name != name) ++at;
    if (at == wanted.size())
      return wrong_names(specialization_, "the kernel has no argument", name,
                         did_you_mean(name, names_of(specialization_)));
    if (given[at]) return wrong_names(specialization_, "two arguments are given as", name);
    given[at] = true;
    in_order[at] = value;
  }
  for (std::size_t at = 0; at < wanted.size(); ++at)
    if (!given[at] && wanted[at].absent)
      in_order[at] = KernelArgument::tensor(wanted[at].dtype, nullptr);
    else if (!given[at])
      return wrong_names(specialization_, "nothing is given as", wanted[at].name);
  return launch(std::span<const KernelArgument>(in_order).first(wanted.size()), stream);
}

}  // namespace diecast
