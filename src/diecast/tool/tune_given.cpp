// Reading arguments from files; see tune_given.h.
#include <diecast/base/text.h>
#include <diecast/tool/tune_given.h>

#include <algorithm>

namespace diecast::tool {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 30;

bool may_be_given(const BoundArgument& argument) {
  return argument.kind == Argument::Kind::structure ||
         (argument.kind == Argument::Kind::tensor &&
          argument.direction == Argument::Direction::in && !argument.absent);
}

Result<const BoundArgument*> find(const Specialization& kernel, std::string_view name) {
  std::vector<std::string> names;
  for (const BoundArgument& argument : kernel.arguments()) {
    if (!may_be_given(argument)) continue;
    if (argument.name == name) return &argument;
    names.push_back(argument.name);
  }
  return Error{ErrorCode::unknown_parameter,
               cat("--given: ", kernel.tmpl().name(), " reads no tensor or structure named ",
                   quote(name, 40), did_you_mean(name, names)),
               names.empty() ? std::string("leave it out")
                             : cat("it reads ", join(names, ", "), "; scalars come by --scalar")};
}

Result<std::int64_t> bytes_at(const Specialization& kernel, const BoundArgument& argument,
                              const RunSizes& sizes) {
  if (argument.kind == Argument::Kind::structure) return argument.bytes;
  const Names known = kernel.names();
  const Names names = [&](std::string_view name) -> std::optional<std::int64_t> {
    for (const auto& [size, value] : sizes)
      if (size == name) return value;
    return known(name);
  };
  std::int64_t bytes = dtype_bits(argument.dtype) / 8;
  for (const Expression& extent : argument.shape) {
    DIECAST_TRY(const std::int64_t value, extent.evaluate(names));
    if (__builtin_mul_overflow(bytes, value, &bytes))
      return Error{ErrorCode::invalid_argument, cat(argument.name, " would have too many elements"),
                   "tune a smaller size"};
  }
  return bytes;
}

Result<void> check_bytes(const Specialization& kernel, const BoundArgument& argument,
                         std::span<const RunSizes> sizes, std::size_t has) {
  for (const RunSizes& at : sizes) {
    DIECAST_TRY(const std::int64_t bytes, bytes_at(kernel, argument, at));
    if (static_cast<std::size_t>(bytes) == has) continue;
    return Error{ErrorCode::shape_mismatch,
                 cat("--given ", argument.name, " has ", has, " bytes, and the kernel takes ",
                     bytes, at.empty() ? "" : " at ", run_sizes_text(at)),
                 "give a file of so many bytes, and sizes for which it is meant: --size rows=512"};
  }
  return {};
}

}  // namespace

Result<GivenFiles> read_given(const Specialization& kernel, std::span<const RunSizes> sizes,
                              const std::vector<std::string>& given,
                              const std::shared_ptr<Device>& device) {
  GivenFiles out;
  for (const std::string& word : given) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0)
      return Error{ErrorCode::invalid_argument, cat(quote(word, 80), " names no argument"),
                   "write it as --given index=index.bin"};
    const std::string name = word.substr(0, equals);
    DIECAST_TRY(const BoundArgument* const argument, find(kernel, name));
    DIECAST_TRY(Bytes bytes, read_file(system_files(), word.substr(equals + 1), kLargestFile));
    DIECAST_CHECK(check_bytes(kernel, *argument, sizes, bytes.size()));
    if (argument->kind == Argument::Kind::structure) {
      out.structures.push_back(std::make_unique<Bytes>(std::move(bytes)));
      const Bytes& kept = *out.structures.back();
      out.arguments.emplace_back(name, KernelArgument::bytes(kept.data(), kept.size()));
      continue;
    }
    DIECAST_TRY(DeviceMemory memory, DeviceMemory::copy_of(device, bytes, {}));
    DIECAST_CHECK(device->synchronize({}));
    out.arguments.emplace_back(name, KernelArgument::tensor(argument->dtype, memory.data()));
    out.tensors.push_back(std::move(memory));
  }
  return out;
}

}  // namespace diecast::tool
