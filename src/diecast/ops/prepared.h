// What prepared ops share. A prepared op is a fixed sequence of fills and launches whose kernels
// are resolved and resident on one device: running it compiles, loads, allocates and waits for
// nothing. Scratch, where an op needs any (scratch_bytes), comes from the caller and belongs to one
// stream. Any number of threads may run one prepared op at the same time, each with tensors and
// scratch of its own. A captured graph of our kernels needs neither the op nor the runtime any
// longer, only the memory that it was given. run() of an op that was default-constructed (as a
// member may be) and not assigned to, or that was moved from, is an error.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/kernel.h>
#include <diecast/ops/request.h>
#include <diecast/ops/tensor.h>
#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace diecast {

// What a kernel may assume of a tensor's rows: ROWS in the templates' headers.
enum class RowsClass : std::uint8_t {
  dense,  // whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on
  apart,  // whole blocks, every row from a multiple of 16 bytes on
  any     // nothing
};
constexpr auto words_of(RowsClass) {
  return std::to_array<std::string_view>({"dense", "apart", "any"});
}
// The strictest of them that is true of this tensor.
inline RowsClass rows_class(const Tensor& tensor) {
  const auto bytes = static_cast<std::uint64_t>(dtype_bits(tensor.dtype) / 8);
  const auto cols = static_cast<std::uint64_t>(tensor.cols());
  const auto stride = static_cast<std::uint64_t>(tensor.stride());
  if (((reinterpret_cast<std::uintptr_t>(tensor.data) | cols) & 15) != 0 || bytes == 0)
    return RowsClass::any;
  if (stride == cols || tensor.rows() <= 1) return RowsClass::dense;
  return (stride & (16 / bytes - 1)) == 0 ? RowsClass::apart : RowsClass::any;
}

// A tensor's row stride, with 0 for dense rows, which a launch checks soonest. A single row is
// dense whatever its stride.
inline std::int64_t stride_number(const Tensor& tensor) {
  return tensor.rows() <= 1 || tensor.row_stride == tensor.cols() ? 0 : tensor.row_stride;
}
// The arguments of `x [rows, cols] stride`, `rows` and `cols`.
inline KernelArgument tensor_argument(const Tensor& tensor) {
  return KernelArgument::tensor(tensor.dtype, tensor.data, stride_number(tensor));
}
inline KernelArgument rows_argument(const Tensor& tensor) {
  return tensor.device_rows != nullptr
             ? KernelArgument::device_size(tensor.device_rows, tensor.rows())
             : KernelArgument::size(tensor.rows());
}
inline KernelArgument cols_argument(const Tensor& tensor) {
  return KernelArgument::size(tensor.cols());
}
KernelArgument address_argument(const void* pointer);  // as an i64: where one may be absent

// `given`, or the runtime's default device.
Result<std::shared_ptr<Device>> device_or_default(Runtime& runtime,
                                                  const std::shared_ptr<Device>& given);

// A kernel that an op asks for.
struct KernelWanted {
  std::string_view name;  // the template's
  Bindings bindings;      // of parameters that it has
  // A request's fields: those that the template has no parameter for do not concern it. A promise
  // about rows that the template does not know becomes the next weaker one that it knows.
  Bindings fields = {};
};
template <IsRequest Request>
KernelWanted kernel_of(std::string_view name, const Request& request, Bindings bindings = {}) {
  return {name, std::move(bindings), compiled_fields(request)};
}

// All that it binds of this template.
Bindings bindings_for(const Template& tmpl, const KernelWanted& wanted);

// What preparing an op for the request takes, by whichever function its request has.
template <IsRequest Request>
Result<std::vector<KernelWanted>> kernels_for(Runtime& runtime, const Request& request,
                                              const Target& target) {
  DeviceProperties device;
  device.cc = target.cc;
  if constexpr (requires { request.kernels(runtime, target); })
    return request.kernels(runtime, target);
  else if constexpr (requires { request.kernels(device); })
    return request.kernels(device);
  else
    return std::vector{request.kernel(device)};
}

// That templates have these kernels for the target; nothing is compiled. Errors: dtype_mismatch,
// those of Runtime::specialize.
Result<void> check_kernels(Runtime& runtime, std::span<const KernelWanted> all,
                           const Target& target);

// The device's best target of the template, resolved and resident.
Result<std::shared_ptr<Kernel>> preload_for(Runtime& runtime, const std::shared_ptr<Device>& device,
                                            const KernelWanted& wanted);
// Several, in order: they are compiled side by side.
Result<std::vector<std::shared_ptr<Kernel>>> preload_all_for(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             std::span<const KernelWanted> all);

// A default-constructed or moved-from op has no kernel. Errors: not_resident naming the op.
[[gnu::cold]] Error not_prepared(std::string_view op);
inline Result<void> check_prepared(const void* kernel, std::string_view op) {
  if (kernel != nullptr) [[likely]]
    return {};
  return not_prepared(op);
}

// What a request says of a tensor that its kernel's launches take, and of the row length.
struct RequestedRows {
  std::string_view argument = {};  // the tensor's name in the template
  const Tensor* tensor = nullptr;
  RowsClass rows = RowsClass::any;
  std::int64_t cols = 0;
  std::string_view length = "cols";                // a row's, in the template
  std::string_view any = "rows = RowsClass::any";  // how the request says that nothing is known
};
// A launch's error in the words of the op: its name instead of the kernel's spelling, and what a
// request would say instead of what another specialization would have.
[[gnu::cold]] void tell_of_op(Result<void>& launched, std::string_view op, const Kernel& kernel,
                              const RequestedRows& requested);

// A launch whose errors are told so. `arguments`: a structure of kernel_arguments.h, filled by
// name.
template <class Arguments>
Result<void> launch_op(std::string_view op, const Kernel& kernel, const Arguments& arguments,
                       Stream stream, const RequestedRows& requested = {}) {
  Result<void> launched = kernel.launch(arguments.in_order(), stream);
  if (!launched) [[unlikely]]
    tell_of_op(launched, op, kernel, requested);
  return launched;
}

// Of a result f32 [count] that a fill or a descriptor takes: no launch checks those. Errors:
// missing_buffer, misaligned.
Result<void> check_maxima(std::string_view op, std::string_view name, const float* result,
                          std::int64_t count);

// An x of another element type than an op was prepared for.
Error other_input(std::string_view op, DType given, DType prepared);

// While a stream is being captured nothing may be prepared. Errors: not_resident naming the op.
Result<void> may_prepare(Device& device, Stream stream, std::string_view op);

// The key of an op in the runtime's table; `words` are those of its request.
template <class Prepared, std::size_t kCount>
PreparedKey prepared_key(const Device* device, const std::array<std::uint64_t, kCount>& words) {
  static_assert(kCount <= PreparedKey::kMostWords);
  static constexpr char kKind = 0;
  return {device, &kKind, hash_of_words(words), words};
}

// The key refers to the words: they outlive it.
template <class Prepared, std::size_t kCount>
PreparedKey prepared_key(const Device*, const std::array<std::uint64_t, kCount>&&) = delete;

// The op that is kept for this request, or null: beyond the requests that a runtime keeps, the one
// for any row length.
template <class Prepared>
const Prepared* find_kept(const Runtime& runtime, const Device* device,
                          const typename Prepared::Request& request) {
  const auto words = words_of_request(request);
  const auto key = prepared_key<Prepared>(device, words);
  const void* known = runtime.find_prepared(key);
  if (known == nullptr && runtime.keeps_enough(key)) [[unlikely]] {
    const auto any = words_of_request(of_any_length(request));
    known = runtime.find_prepared(prepared_key<Prepared>(device, any));
  }
  return static_cast<const Prepared*>(known);
}

// The first of the calls below.
template <class Prepared>
[[gnu::cold, gnu::noinline]] Result<const Prepared*> prepare_and_keep(
    Runtime& runtime, const std::shared_ptr<Device>& device,
    const typename Prepared::Request& request, Stream stream) {
  if (const Prepared* known = find_kept<Prepared>(runtime, device.get(), request)) return known;
  DIECAST_CHECK(may_prepare(*device, stream, Prepared::kName));
  auto kept = request;
  const auto exact = words_of_request(request);
  if (runtime.keeps_enough(prepared_key<Prepared>(device.get(), exact)))
    kept = of_any_length(request);
  DIECAST_TRY(auto made, Prepared::prepare(runtime, device, kept));
  const auto words = words_of_request(kept);
  return static_cast<const Prepared*>(
      runtime.keep_prepared(prepared_key<Prepared>(device.get(), words),
                            std::make_shared<const Prepared>(std::move(made))));
}

// For the convenience calls: the prepared op for this request, prepared on first use; the
// runtime's, which keeps its device too. Prepared has Request, kName and prepare(runtime, device,
// request).
template <class Prepared>
[[gnu::always_inline]] inline Result<const Prepared*> prepared_once(
    Runtime& runtime, const std::shared_ptr<Device>& device,
    const typename Prepared::Request& request, Stream stream) {
  const auto words = words_of_request(request);
  const auto key = prepared_key<Prepared>(device.get(), words);
  if (const void* known = runtime.find_prepared(key)) [[likely]]
    return static_cast<const Prepared*>(known);
  return prepare_and_keep<Prepared>(runtime, device, request, stream);
}

}  // namespace diecast
