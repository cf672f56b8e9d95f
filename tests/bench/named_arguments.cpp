// A kernel's arguments by name; see named_arguments.h.
#include "bench/named_arguments.h"

namespace diecast::tool {

std::vector<KernelArgument> arguments_by_name(const Specialization& one, const NamedData& data,
                                              const NamedSizes& sizes) {
  std::vector<KernelArgument> out;
  for (const BoundArgument& argument : one.arguments()) {
    if (argument.kind == Argument::Kind::size) {
      out.push_back(KernelArgument::size(sizes.at(argument.name)));
      continue;
    }
    const auto found = data.find(argument.name);
    out.push_back(
        KernelArgument::tensor(argument.dtype, found == data.end() ? nullptr : found->second));
  }
  return out;
}

}  // namespace diecast::tool
