// Checks and views of DLTensors; see tensors.h.
#include <diecast/base/text.h>
#include <diecast/c/tensors.h>

#include <algorithm>

namespace diecast::c {
namespace {

// DLPack's type codes and device types.
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kE4m3fn = 10 };
constexpr std::uint8_t kE5m2 = 12, kE8m0 = 14, kE2m1 = 17;
constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;

struct Known {
  std::uint8_t code, bits;
  DType type;
};
constexpr Known kKnown[] = {
    {kBfloat, 16, DType::bf16}, {kFloat, 16, DType::f16}, {kFloat, 32, DType::f32},
    {kE4m3fn, 8, DType::e4m3},  {kE5m2, 8, DType::e5m2},  {kE8m0, 8, DType::e8m0},
    {kUInt, 8, DType::u8},      {kInt, 32, DType::i32},   {kUInt, 32, DType::u32},
    {kInt, 64, DType::i64},     {kFloat, 64, DType::f64}, {kInt, 8, DType::i8},
    {kUInt, 16, DType::u16},    {kUInt, 64, DType::u64},
};

static_assert(dtype_bits(static_cast<DType>(std::size(kKnown) - 1)) != 0 &&
                  dtype_bits(static_cast<DType>(std::size(kKnown))) == 0,
              "each type of diecast has its DLPack code here");

std::int64_t bits_of(const diecast_tensor& tensor) {
  return std::int64_t{tensor.type_bits} * tensor.type_lanes;
}

Error wrong_type(const TensorName& name, const diecast_tensor& tensor, std::string_view wanted) {
  return {ErrorCode::dtype_mismatch, cat(name.text(), " is ", type_text(tensor)),
          cat("pass ", wanted)};
}

Error missing(const TensorName& name) {
  return {ErrorCode::missing_buffer, cat(name.text(), " is not given"), cat("pass ", name.tensor)};
}

Error apart(const TensorName& name, std::string_view what) {
  return {ErrorCode::shape_mismatch, cat(name.text(), ": ", what),
          "pass a contiguous tensor, or one whose rows alone are apart"};
}

// The stride of dimension `at`, in elements.
std::int64_t stride_of(const diecast_tensor& tensor, int at) {
  if (tensor.strides != nullptr) return tensor.strides[at];
  std::int64_t stride = 1;
  for (int i = tensor.ndim - 1; i > at; --i) stride = capped_product(stride, tensor.shape[i]);
  return stride;
}

// Neighbours of a row lie one behind another, and leading dimensions make one list of rows.
Result<void> check_strides(const diecast_tensor& tensor, const TensorName& name) {
  const int last = tensor.ndim - 1;
  std::int64_t inner = 0, inner_stride = 0;  // of the next dimension with more than one row
  for (int i = last; i >= 0; --i) {
    if (tensor.shape[i] == 1) continue;
    const std::int64_t stride = stride_of(tensor, i);
    if (i == last) {
      if (stride != 1) return apart(name, cat("neighbours of a row are ", stride, " apart"));
      continue;
    }
    const std::int64_t dense = tensor.shape[last];
    if (inner == 0 ? stride < dense : stride != capped_product(inner, inner_stride))
      return apart(name, cat("dimension ", i, " has stride ", stride));
    inner = tensor.shape[i];
    inner_stride = stride;
  }
  return {};
}

Result<void> check_shape(const diecast_tensor& tensor, const TensorName& name) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return Error{ErrorCode::invalid_argument,
                 cat(name.text(), " has ndim = ", tensor.ndim, " and no shape"), "pass the shape"};
  }
  if (tensor.ndim > kMaxRank) {
    return Error{ErrorCode::shape_mismatch, cat(name.text(), " has ", tensor.ndim, " dimensions"),
                 cat("pass at most ", kMaxRank)};
  }
  if (auto elements = shape_of(tensor).elements(); !elements) {
    return Error{elements.error().code, cat(name.text(), ": ", elements.error().what),
                 elements.error().fix};
  }
  return {};
}

Error wrong_count(const TensorName& name, const diecast_tensor& tensor, std::int64_t count) {
  return {ErrorCode::shape_mismatch,
          cat(name.text(), " has ", elements_of(tensor), " elements, not ", count),
          cat("pass ", count, " elements")};
}

// `count` elements or more, one behind another.
Result<void*> dense_of(const diecast_tensor* tensor, DType type, std::int64_t count,
                       const TensorName& name) {
  if (tensor == nullptr) return missing(name);
  if (dtype_of(*tensor) != type) return wrong_type(name, *tensor, dtype_name(type));
  if (row_stride_of(*tensor) != 0) return apart(name, "its rows are apart");
  if (elements_of(*tensor) < count) return wrong_count(name, *tensor, count);
  return data_of(tensor);
}

}  // namespace

std::string TensorName::text() const { return cat(op, ": ", tensor); }

std::optional<DType> dtype_of(const diecast_tensor& tensor) {
  if (tensor.type_lanes == 1) {
    for (const Known& known : kKnown)
      if (known.code == tensor.type_code && known.bits == tensor.type_bits) return known.type;
  }
  return std::nullopt;
}

void set_type(diecast_tensor& tensor, DType type) {
  const Known& known = *std::ranges::find(kKnown, type, &Known::type);
  tensor.type_code = known.code;
  tensor.type_bits = known.bits;
  tensor.type_lanes = 1;
}

std::string type_text(const diecast_tensor& tensor) {
  if (const auto type = dtype_of(tensor)) return std::string(dtype_name(*type));
  constexpr std::string_view kNames[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
  const int bits = tensor.type_bits, lanes = tensor.type_lanes;
  if (tensor.type_code == 6) return "bool";
  if (tensor.type_code < std::size(kNames) && lanes == 1)
    return cat(kNames[tensor.type_code], bits);
  return cat("of type code ", int{tensor.type_code}, " with ", bits, " bits and ", lanes, " lanes");
}

Result<Extent> check_tensor(const diecast_tensor& tensor, const TensorName& name) {
  DIECAST_CHECK(check_shape(tensor, name));
  const std::int64_t elements = elements_of(tensor);
  if (elements == 0) return Extent{};
  DIECAST_CHECK(check_strides(tensor, name));
  if (tensor.data == nullptr) {
    return Error{ErrorCode::missing_buffer,
                 cat(name.text(), " has ", elements, " elements and a null address"),
                 "pass the address of its memory"};
  }
  const Shape shape = shape_of(tensor);
  const std::int64_t bits = bits_of(tensor), stride = row_stride_of(tensor);
  Extent out{reinterpret_cast<std::uintptr_t>(data_of(&tensor)), shape.rows()};
  if (bits == 0) return wrong_type(name, tensor, "a tensor of numbers");
  out.width = (capped_product(shape.cols(), bits) + 7) / 8;
  out.pitch = stride == 0 ? out.width : capped_product(stride, bits) / 8;
  const auto span = checked_product(out.rows, out.pitch);
  if (!span) {
    return Error{ErrorCode::shape_mismatch,
                 cat(name.text(), " covers more bytes than fit in 63 bits"),
                 "pass a smaller tensor"};
  }
  return out;
}

Result<void> check_place(const diecast_tensor& tensor, const Device& device,
                         const TensorName& name) {
  const DeviceProperties& properties = device.properties();
  const bool host = properties.cc == 0;
  const std::int32_t type = tensor.device_type;
  if (type == kCudaManaged) return {};
  if (host && (type == kCpu || type == kCudaHost)) return {};
  if (!host && type == kCuda && tensor.device_id == properties.ordinal) return {};
  const auto text = [](bool cpu, int ordinal) {
    return cpu ? std::string("the CPU") : cat("CUDA device ", ordinal);
  };
  const bool cpu = type == kCpu || type == kCudaHost;
  if (!cpu && type != kCuda) {
    return Error{ErrorCode::invalid_argument,
                 cat(name.text(), " is on a device of DLPack type ", type),
                 "pass tensors of the CPU or of a CUDA device"};
  }
  return Error{ErrorCode::invalid_argument,
               cat(name.text(), " is on ", text(cpu, tensor.device_id), ", the work is done on ",
                   text(host, properties.ordinal)),
               "pass tensors of one device; the host device takes those of the CPU"};
}

Shape shape_of(const diecast_tensor& tensor) {
  return Shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
}

void* data_of(const diecast_tensor* tensor) {
  if (tensor == nullptr || tensor->data == nullptr) return nullptr;
  return static_cast<char*>(tensor->data) + tensor->byte_offset;
}

std::int64_t elements_of(const diecast_tensor& tensor) {
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.ndim; ++i) elements *= tensor.shape[i];
  return elements;
}

std::int64_t row_stride_of(const diecast_tensor& tensor) {
  if (elements_of(tensor) == 0) return 0;  // whatever its strides say
  const std::int64_t cols = tensor.ndim == 0 ? 1 : tensor.shape[tensor.ndim - 1];
  for (int i = tensor.ndim - 2; i >= 0; --i) {
    if (tensor.shape[i] == 1) continue;
    const std::int64_t stride = stride_of(tensor, i);
    return stride == cols ? 0 : stride;
  }
  return 0;
}

Result<Tensor> tensor_of(const diecast_tensor* tensor, const TensorName& name,
                         const diecast_tensor* device_rows) {
  if (tensor == nullptr) return missing(name);
  const auto type = dtype_of(*tensor);
  if (!type) return wrong_type(name, *tensor, "bf16, f16 or f32");
  Tensor out{data_of(tensor), *type, shape_of(*tensor), row_stride_of(*tensor), nullptr};
  if (device_rows == nullptr) return out;
  DIECAST_TRY(out.device_rows, integers_of(device_rows, 1, {name.op, "device_rows"}));
  return out;
}

Result<Tensor> view_as(const diecast_tensor* tensor, DType type, const TensorName& name) {
  if (tensor == nullptr) return missing(name);
  const std::int64_t bits = bits_of(*tensor);
  if (bits != 8 && bits != 4)
    return wrong_type(name, *tensor, cat("bytes: u8, or ", dtype_name(type)));
  Shape shape = shape_of(*tensor);
  std::int64_t stride = row_stride_of(*tensor);
  if (bits == 4) {  // one code an element
    if (shape.rank == 0 || shape.cols() % 2 != 0 || stride % 2 != 0)
      return apart(name, "a row of packed codes ends within a byte");
    shape.dims[static_cast<std::size_t>(shape.rank - 1)] /= 2;
    stride /= 2;
  }
  return Tensor{data_of(tensor), type, shape, stride, nullptr};
}

Result<DenseBytes> bytes_of(const diecast_tensor* tensor, const TensorName& name) {
  DIECAST_TRY(const ScaleBytes bytes, scales_of(tensor, ScaleLayout::s128x4, name));
  return DenseBytes{bytes.data, bytes.count};
}

Result<ScaleBytes> scales_of(const diecast_tensor* tensor, ScaleLayout layout,
                             const TensorName& name) {
  if (tensor == nullptr) return missing(name);
  const std::int64_t bits = bits_of(*tensor);
  if (bits > 8 && dtype_of(*tensor) != DType::i32)
    return wrong_type(name, *tensor, "bytes: u8, or the type itself");
  const std::int64_t stride = row_stride_of(*tensor);
  if (stride != 0 && layout != ScaleLayout::linear) return apart(name, "its rows are apart");
  const std::int64_t elements = elements_of(*tensor);
  const auto count = checked_product(elements, bits);
  if (!count) return apart(name, "it has more bits than fit in 63 bits");
  return ScaleBytes{data_of(tensor), *count / 8, stride * bits / 8};
}

Result<float*> floats_of(const diecast_tensor* tensor, std::int64_t count, const TensorName& name) {
  DIECAST_TRY(void* const data, dense_of(tensor, DType::f32, count, name));
  if (elements_of(*tensor) != count) return wrong_count(name, *tensor, count);
  return static_cast<float*>(data);
}

Result<float*> floats_if_given(const diecast_tensor* tensor, std::int64_t count,
                               const TensorName& name) {
  if (tensor == nullptr) return nullptr;
  return floats_of(tensor, count, name);
}

Result<const std::int64_t*> integers_of(const diecast_tensor* tensor, std::int64_t count,
                                        const TensorName& name) {
  DIECAST_TRY(const void* const data, dense_of(tensor, DType::i64, count, name));
  return static_cast<const std::int64_t*>(data);
}

Result<const std::int32_t*> indices_of(const diecast_tensor* tensor, std::int64_t count,
                                       const TensorName& name) {
  DIECAST_TRY(const void* const data, dense_of(tensor, DType::i32, count, name));
  return static_cast<const std::int32_t*>(data);
}

std::int64_t packed_codes(const diecast_tensor& tensor) {
  const std::int64_t cols = tensor.ndim == 0 ? 1 : tensor.shape[tensor.ndim - 1];
  return tensor.type_code == kE2m1 ? cols * tensor.type_lanes : cols * 2;
}

}  // namespace diecast::c
