// Reading arguments from files; see given_files.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/extents.h>
#include <diecast/tool/given_files.h>

#include <algorithm>

namespace diecast::tool {
namespace {

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
  DIECAST_TRY(const auto extents, extents_at(kernel, argument, sizes));
  return elements_of(extents) * dtype_bits(argument.dtype) / 8;
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

Result<void> GivenFiles::add(const BoundArgument& argument, ByteSpan bytes,
                             const std::shared_ptr<Device>& device) {
  if (argument.kind == Argument::Kind::structure) {
    structures.push_back(std::make_unique<Bytes>(bytes.begin(), bytes.end()));
    const Bytes& kept = *structures.back();
    arguments.emplace_back(argument.name, KernelArgument::bytes(kept.data(), kept.size()));
    return {};
  }
  DIECAST_TRY(DeviceMemory memory, DeviceMemory::allocate(device, bytes.size()));
  if (!bytes.empty())
    DIECAST_CHECK(device->copy_to_device(memory.data(), bytes.data(), bytes.size(), {}));
  DIECAST_CHECK(device->synchronize({}));
  arguments.emplace_back(argument.name, KernelArgument::tensor(argument.dtype, memory.data()));
  tensors.push_back(std::move(memory));
  return {};
}

Result<NamedFile> named_file(std::string_view option, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals != word.npos && equals != 0)
    return NamedFile{std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))};
  return Error{ErrorCode::invalid_argument, cat(quote(word, 80), " names no argument"),
               cat("write it as ", option, " NAME=FILE")};
}

Result<GivenFiles> read_given(const Specialization& kernel, std::span<const RunSizes> sizes,
                              const std::vector<std::string>& given,
                              const std::shared_ptr<Device>& device) {
  GivenFiles out;
  for (const std::string& word : given) {
    DIECAST_TRY(const NamedFile file, named_file("--given", word));
    DIECAST_TRY(const BoundArgument* const argument, find(kernel, file.name));
    DIECAST_TRY(const Bytes bytes, read_file(system_files(), file.path, kLargestGiven));
    DIECAST_CHECK(check_bytes(kernel, *argument, sizes, bytes.size()));
    DIECAST_CHECK(out.add(*argument, bytes, device));
  }
  return out;
}

}  // namespace diecast::tool
