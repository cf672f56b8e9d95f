// One allocation for all parts of a quantized matrix; see quantized_buffer.h.
#include <diecast/ops/quantized_buffer.h>

#include <cstddef>

namespace diecast {
namespace {

constexpr std::size_t kAlign = 256;

// Places that lie one behind another, each at a multiple of kAlign.
class Places {
 public:
  explicit Places(std::byte* base) : base_(base) {}
  void* next(std::int64_t bytes) {
    std::byte* const at = base_ + bytes_;
    bytes_ += (static_cast<std::size_t>(bytes) + kAlign - 1) / kAlign * kAlign;
    return bytes == 0 ? nullptr : at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  std::size_t bytes_ = 0;
};

void place(QuantizedSide& side, Places& places) {
  side.data = places.next(side.data_bytes);
  side.scale = places.next(side.scale_bytes);
  side.amax =
      static_cast<float*>(places.next(side.amax_count * static_cast<std::int64_t>(sizeof(float))));
}

}  // namespace

Result<QuantizedBuffer> QuantizedBuffer::allocate(const std::shared_ptr<Device>& device,
                                                  const Shape& shape, const QuantizedType& type,
                                                  Sides sides) {
  DIECAST_CHECK(check_device(device));
  QuantizedBuffer out;
  QuantizedTensor& tensor = out.tensor_;
  tensor.type = type;
  tensor.shape = shape;
  if (has_rows(sides)) {
    DIECAST_TRY(tensor.rowwise, tensor.rowwise_sizes());
  }
  if (has_columns(sides)) {
    DIECAST_TRY(tensor.columnwise, tensor.columnwise_sizes());
  }
  QuantizedTensor sizes = tensor;
  Places measured(nullptr);
  place(sizes.rowwise, measured), place(sizes.columnwise, measured);
  DIECAST_TRY(out.memory_, DeviceMemory::allocate(device, measured.bytes()));
  Places places(static_cast<std::byte*>(out.memory_.data()));
  place(tensor.rowwise, places), place(tensor.columnwise, places);
  return out;
}

}  // namespace diecast
