// What prepared ops share; see prepared.h.
#include <diecast/base/text.h>
#include <diecast/ops/prepared.h>

namespace diecast {

std::string_view rows_class_name(RowsClass rows) {
  return rows == RowsClass::dense ? "dense" : rows == RowsClass::apart ? "apart" : "any";
}

RowsClass rows_class(const Tensor& tensor) {
  const std::int64_t bytes = dtype_bits(tensor.dtype) / 8;
  const bool start = reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
  if (!start || tensor.cols() % 16 != 0) return RowsClass::any;
  if (tensor.rows() <= 1 || tensor.stride() == tensor.cols()) return RowsClass::dense;
  return tensor.stride() % (16 / bytes) == 0 ? RowsClass::apart : RowsClass::any;
}

KernelArgument tensor_argument(const Tensor& tensor) {
  // One row is dense, however far the next one would be.
  return KernelArgument::tensor(tensor.dtype, tensor.data,
                                tensor.rows() <= 1 ? 0 : tensor.stride());
}

KernelArgument rows_argument(const Tensor& tensor) {
  return tensor.device_rows != nullptr
             ? KernelArgument::device_size(tensor.device_rows, tensor.rows())
             : KernelArgument::size(tensor.rows());
}

KernelArgument cols_argument(const Tensor& tensor) { return KernelArgument::size(tensor.cols()); }

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
  DIECAST_TRY(const Specialization specialization, runtime.specialize_for(name, bindings, *device));
  return runtime.preload(specialization, device);
}

Result<void> may_prepare(Device& device, Stream stream, std::string_view op) {
  DIECAST_TRY(const bool capturing, device.is_capturing(stream));
  if (!capturing) return {};
  return Error{ErrorCode::not_resident,
               cat(op, " is not prepared, and the stream is being captured"),
               cat("prepare it, or call it once with the same options, before the capture begins")};
}

}  // namespace diecast
