// What prepared ops share; see prepared.h.
#include <diecast/base/text.h>
#include <diecast/ops/prepared.h>

namespace diecast {

std::string_view rows_class_name(RowsClass rows) {
  return rows == RowsClass::dense ? "dense" : rows == RowsClass::apart ? "apart" : "any";
}

RowsClass rows_class(const Tensor& tensor) {
  const auto places = 16 / static_cast<std::uint64_t>(dtype_bits(tensor.dtype) / 8);
  const auto cols = static_cast<std::uint64_t>(tensor.cols());
  const auto stride = static_cast<std::uint64_t>(tensor.stride());
  if (((reinterpret_cast<std::uintptr_t>(tensor.data) | cols) & 15) != 0) return RowsClass::any;
  if (stride == cols || tensor.rows() <= 1) return RowsClass::dense;
  return (stride & (places - 1)) == 0 ? RowsClass::apart : RowsClass::any;
}

KernelArgument address_argument(const void* pointer) {
  return KernelArgument::scalar(
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(pointer)));
}

Result<std::shared_ptr<Device>> device_or_default(Runtime& runtime,
                                                  const std::shared_ptr<Device>& given) {
  if (given != nullptr) return given;
  return runtime.default_device();
}

Result<std::shared_ptr<Kernel>> preload_for(Runtime& runtime, const std::shared_ptr<Device>& device,
                                            std::string_view name, const Bindings& bindings) {
  DIECAST_CHECK(check_device(device));
  DIECAST_TRY(const Specialization specialization, runtime.specialize_for(name, bindings, *device));
  return runtime.preload(specialization, device);
}

Result<std::vector<std::shared_ptr<Kernel>>> preload_all_for(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             std::span<const KernelWanted> all) {
  DIECAST_CHECK(check_device(device));
  std::vector<Specialization> specializations;
  for (const auto& [name, bindings] : all) {
    DIECAST_TRY(specializations.emplace_back(), runtime.specialize_for(name, bindings, *device));
  }
  return runtime.preload(specializations, device);
}

Result<void> may_prepare(Device& device, Stream stream, std::string_view op) {
  DIECAST_TRY(const bool capturing, device.is_capturing(stream));
  if (!capturing) return {};
  return Error{ErrorCode::not_resident,
               cat(op, " is not prepared, and the stream is being captured"),
               cat("prepare it, or call it once with the same options, before the capture begins")};
}

}  // namespace diecast
