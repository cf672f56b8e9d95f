// What a call's form is, and whether another call has it; see recall.h.
#include <diecast/c/recall.h>
#include <diecast/c/tensor_numbers.h>
#include <diecast/c/tensors.h>

#include <cstring>

namespace diecast::c {
namespace {

constexpr std::uintptr_t kAlignment = 256;  // no op asks for more
constexpr int kMostDimensions = 4;          // of a tensor that is kept

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

}  // namespace

[[gnu::hot]] std::size_t form_number(const diecast_op_info& info, const void* tensors) {
  if (!has_fields(tensors, info.tensor_count)) return 0;
  const diecast_tensor* const first = *tensors_in(tensors);
  if (first == nullptr || first->shape == nullptr || first->ndim <= 0 ||
      first->ndim > kMostDimensions)
    return 0;
  const auto rows = static_cast<std::uint64_t>(first->shape[0]);
  const auto cols = static_cast<std::uint64_t>(first->shape[first->ndim - 1]);
  return (rows + rows / 8 + cols / 128) % kForms;
}

bool CallForm::keep(const diecast_op_info& info, const void* tensors, const void* options,
                    const Device& device) {
  forget();
  if (!has_fields(tensors, info.tensor_count) || !keep_options(info, options)) return false;
  device_ = &device;
  ordinal_ = device.properties().ordinal;
  capability_ = device.properties().cc;
  return keep_tensors(info, tensors);
}

bool CallForm::keep_tensors(const diecast_op_info& info, const void* tensors) {
  std::size_t count = 0, numbers = 0;
  one_ = same_ = -1;
  for (std::size_t field = 0; field < info.tensor_count; ++field) {
    const diecast_tensor* const given = tensors_in(tensors)[field];
    if (given == nullptr) continue;
    if (count == kTensors || given->ndim > kMostDimensions) return false;
    const auto extent = check_tensor(*given, {info.name, info.tensors[field].name});
    if (!extent || extent->rows == 0 || extent->width == 0) return false;
    const bool fits = each_number(*given, [&](std::uint64_t number) {
      if (numbers == kNumbers) return false;
      numbers_[numbers++] = number;
      return true;
    });
    if (!fits) return false;
    OneTensor& kept = tensors_[count++];
    kept = {.address = address_of(*given),
            .bytes = (extent->rows - 1) * extent->pitch + extent->width,
            .field = static_cast<std::uint32_t>(field),
            .written = info.tensors[field].role >= DIECAST_OUTPUT};
    for (std::size_t other = 0; other + 1 < count; ++other) {
      if (tensors_[other].address != kept.address) continue;
      if (one_ >= 0) return false;
      one_ = static_cast<int>(other), same_ = static_cast<int>(count - 1);
    }
  }
  count_ = count;
  return count > 0;
}

[[gnu::hot]] CallForm::Taken CallForm::take(const diecast_op_info& info, const void* tensors,
                                            const void* options, const Device& device) {
  if (count_ == 0 || device_ != &device || !has_fields(tensors, info.tensor_count) ||
      !same_options(info, options))
    return Taken::no;
  const diecast_tensor* const* const given = tensors_in(tensors);
  std::array<char*, kTensors> addresses;
  const std::uint64_t* expected = numbers_.data();
  std::uintptr_t moved = 0;
  std::size_t count = 0;
  for (std::size_t field = 0; field < info.tensor_count; ++field) {
    const diecast_tensor* const tensor = given[field];
    if (tensor == nullptr) continue;
    if (count == count_ || tensors_[count].field != field || tensor->data == nullptr ||
        !each_number(*tensor, [&](std::uint64_t number) { return number == *expected++; }))
      return Taken::no;
    addresses[count] = address_of(*tensor);
    moved |= reinterpret_cast<std::uintptr_t>(addresses[count]) ^
             reinterpret_cast<std::uintptr_t>(tensors_[count].address);
    ++count;
  }
  const DeviceProperties& properties = device.properties();
  if (count != count_ || ordinal_ != properties.ordinal || capability_ != properties.cc)
    return Taken::no;
  if (moved == 0) return Taken::same;
  if (one_ >= 0 &&
      addresses[static_cast<std::size_t>(one_)] != addresses[static_cast<std::size_t>(same_)])
    return Taken::no;
  return moved % kAlignment == 0 && move(addresses) ? Taken::moved : Taken::no;
}

// Keeps the addresses if nothing lies in what the call writes. What lies within another's bytes may
// still lie between its rows: the full check says.
bool CallForm::move(const std::array<char*, kTensors>& addresses) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!tensors_[i].written) continue;
    for (std::size_t j = 0; j < count_; ++j) {
      if (j != i && !are_one(i, j) && addresses[i] < addresses[j] + tensors_[j].bytes &&
          addresses[j] < addresses[i] + tensors_[i].bytes)
        return false;
    }
  }
  for (std::size_t i = 0; i < count_; ++i) tensors_[i].address = addresses[i];
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

[[gnu::hot]] bool CallForm::same_options(const diecast_op_info& info, const void* options) const {
  if (!has_fields(options, info.option_count)) return false;
  if (has_words_) [[unlikely]]
    return same_words(info, options);
  const auto* const given = fields_of<std::uint64_t>(options);
  for (std::size_t i = 0; i < info.option_count; ++i)
    if (given[i] != options_[i]) return false;
  return true;
}

bool CallForm::same_words(const diecast_op_info& info, const void* options) const {
  for (std::size_t i = 0; i < info.option_count; ++i) {
    if (info.options[i].kind != DIECAST_WORD) {
      if (fields_of<std::uint64_t>(options)[i] != options_[i]) return false;
      continue;
    }
    const char* const word = fields_of<const char*>(options)[i];
    const bool given = word != nullptr, kept = words_[i][0] != 0;  // an empty one is no word
    if (given != kept || (given && std::strcmp(word, words_[i].data()) != 0)) return false;
  }
  return true;
}

}  // namespace diecast::c
