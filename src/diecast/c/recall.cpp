// What a call's form is, and whether another call has it; see recall.h.
#include <diecast/c/recall.h>
#include <diecast/c/tensors.h>

#include <cstring>

namespace diecast::c {
namespace {

constexpr std::uintptr_t kAlignment = 256;  // no op asks for more

// The fields of a structure of an op, each of eight bytes, behind its size.
template <class Field>
const Field* fields_of(const void* structure) {
  return reinterpret_cast<const Field*>(static_cast<const char*>(structure) + sizeof(std::size_t));
}

// Whether the structure is there and has so many fields.
bool has_fields(const void* structure, std::size_t count) {
  std::size_t size = 0;
  if (structure != nullptr) std::memcpy(&size, structure, sizeof size);
  return size == sizeof(std::size_t) * (1 + count);
}

const diecast_tensor* const* tensors_in(const void* structure) {
  return fields_of<const diecast_tensor*>(structure);
}

// ndim, type code, bits and lanes; the device's type and number.
std::uint64_t type_word(const diecast_tensor& tensor) {
  std::uint64_t word = 0;
  static_assert(offsetof(diecast_tensor, shape) - offsetof(diecast_tensor, ndim) == sizeof word);
  std::memcpy(&word, &tensor.ndim, sizeof word);
  return word;
}
std::uint64_t device_word(const diecast_tensor& tensor) {
  std::uint64_t word = 0;
  static_assert(offsetof(diecast_tensor, ndim) - offsetof(diecast_tensor, device_type) ==
                sizeof word);
  std::memcpy(&word, &tensor.device_type, sizeof word);
  return word;
}

char* address_of(const diecast_tensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace

std::size_t form_number(const diecast_op_info& info, const void* tensors) {
  if (!has_fields(tensors, info.tensor_count)) return 0;
  const diecast_tensor* const first = *tensors_in(tensors);
  if (first == nullptr || first->shape == nullptr || first->ndim <= 0 ||
      first->ndim > kMostDimensions)
    return 0;
  const auto rows = static_cast<std::uint64_t>(first->shape[0]);
  const auto cols = static_cast<std::uint64_t>(first->shape[first->ndim - 1]);
  return (rows + rows / 8 + cols / 128) % kForms;
}

bool CallForm::OneTensor::is_like(const diecast_tensor& tensor) const {
  if (type_word(tensor) != type || device_word(tensor) != device ||
      (tensor.strides != nullptr) != has_strides || tensor.shape == nullptr)
    return false;
  const auto difference = reinterpret_cast<std::uintptr_t>(address_of(tensor)) ^
                          reinterpret_cast<std::uintptr_t>(address);
  if (tensor.data == nullptr || difference % kAlignment != 0) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.ndim); ++i) {
    if (tensor.shape[i] != shape[i]) return false;
    if (has_strides && tensor.strides[i] != strides[i]) return false;
  }
  return true;
}

bool CallForm::keep(const diecast_op_info& info, const void* tensors, const void* options,
                    const Device& device) {
  forget();
  if (!has_fields(tensors, info.tensor_count) || !keep_options(info, options)) return false;
  std::size_t count = 0;
  for (std::size_t field = 0; field < info.tensor_count; ++field) {
    const diecast_tensor* const given = tensors_in(tensors)[field];
    if (given == nullptr) continue;
    if (count == kTensors || given->ndim > kMostDimensions) return false;
    const auto extent = check_tensor(*given, {info.name, info.tensors[field].name});
    if (!extent || extent->rows == 0 || extent->width == 0) return false;
    OneTensor& kept = tensors_[count++];
    kept = {.field = field,
            .address = address_of(*given),
            .bytes = (extent->rows - 1) * extent->pitch + extent->width,
            .device = device_word(*given),
            .type = type_word(*given),
            .has_strides = given->strides != nullptr,
            .written = info.tensors[field].role >= DIECAST_OUTPUT};
    for (std::size_t i = 0; i < static_cast<std::size_t>(given->ndim); ++i) {
      kept.shape[i] = given->shape[i];
      if (kept.has_strides) kept.strides[i] = given->strides[i];
    }
    for (std::size_t other = 0; other + 1 < count; ++other)
      if (tensors_[other].address == kept.address) return false;
  }
  device_ = &device;
  ordinal_ = device.properties().ordinal;
  capability_ = device.properties().cc;
  count_ = count;
  return count > 0;
}

bool CallForm::take(const diecast_op_info& info, const void* tensors, const void* options,
                    const Device& device) {
  if (count_ == 0 || device_ != &device || !has_fields(tensors, info.tensor_count)) return false;
  const diecast_tensor* const* const given = tensors_in(tensors);
  std::size_t there = 0;
  for (std::size_t field = 0; field < info.tensor_count; ++field)
    there += given[field] != nullptr ? 1 : 0;
  if (there != count_) return false;
  std::array<char*, kTensors> addresses;
  for (std::size_t i = 0; i < count_; ++i) {
    const diecast_tensor* const tensor = given[tensors_[i].field];
    if (tensor == nullptr || !tensors_[i].is_like(*tensor)) return false;
    addresses[i] = address_of(*tensor);
  }
  if (!same_options(info, options) || !disjoint(addresses) ||
      ordinal_ != device.properties().ordinal || capability_ != device.properties().cc)
    return false;
  for (std::size_t i = 0; i < count_; ++i) tensors_[i].address = addresses[i];
  return true;
}

// What lies within another's bytes may still lie between its rows: the full check says.
bool CallForm::disjoint(const std::array<char*, kTensors>& addresses) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!tensors_[i].written) continue;
    for (std::size_t j = 0; j < count_; ++j) {
      if (j != i && addresses[i] < addresses[j] + tensors_[j].bytes &&
          addresses[j] < addresses[i] + tensors_[i].bytes)
        return false;
    }
  }
  return true;
}

int CallForm::tensor_at(const void* address) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (tensors_[i].address == address) return static_cast<int>(i);
  return -1;
}

// Words are compared letter by letter: a caller may write another at the same address.
bool CallForm::keep_options(const diecast_op_info& info, const void* options) {
  if (info.option_count > kOptions || !has_fields(options, info.option_count)) return false;
  std::memcpy(options_.data(), fields_of<char>(options), info.option_count * sizeof options_[0]);
  has_words_ = false;
  for (std::size_t i = 0; i < info.option_count; ++i) {
    if (info.options[i].kind != DIECAST_WORD) continue;
    const char* const word = fields_of<const char*>(options)[i];
    words_[i][0] = 0;
    if (word == nullptr) continue;
    if (word[0] == 0 || std::strlen(word) >= kLetters) return false;
    std::memcpy(words_[i].data(), word, std::strlen(word) + 1);
    has_words_ = true;
  }
  return true;
}

bool CallForm::same_options(const diecast_op_info& info, const void* options) const {
  if (!has_fields(options, info.option_count)) return false;
  if (!has_words_) {
    return std::memcmp(options_.data(), fields_of<char>(options),
                       info.option_count * sizeof options_[0]) == 0;
  }
  for (std::size_t i = 0; i < info.option_count; ++i) {
    if (info.options[i].kind != DIECAST_WORD) {
      if (fields_of<std::uint64_t>(options)[i] != options_[i]) return false;
      continue;
    }
    const char* const word = fields_of<const char*>(options)[i];
    if (word == nullptr ? words_[i][0] != 0 : std::strcmp(word, words_[i].data()) != 0)
      return false;
  }
  return true;
}

}  // namespace diecast::c
