// The checks on what the header's entries say, once they are read.
#include <diecast/base/text.h>
#include <diecast/checkpoint/header_events.h>
#include <diecast/checkpoint/safetensors_header.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>

namespace diecast {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian and is handed to kernels as it stands");

Error corrupt(std::string_view path, std::string_view what) {
  return {ErrorCode::file_corrupt, cat(quote(path, 1000), ": ", what),
          cat("give a safetensors file; if ", quote(path, 1000),
              " is one, write or download it again")};
}

// Each tensor has the bytes its shape needs and begins where the one before ended. Everything is
// compared by subtraction: sums of a hostile header wrap.
std::string range_fault(const SafetensorsHeader& header) {
  std::uint64_t previous = 0;
  for (const TensorInfo& tensor : header.tensors) {
    const TensorSize size = tensor_size(tensor.dtype, tensor.shape);
    const auto at = [&] { return cat("data_offsets [", tensor.begin, ", ", tensor.end, "]"); };
    const auto fault = [&](const auto&... words) {
      return cat("tensor ", quote(tensor.name), words...);
    };
    if (tensor.end < tensor.begin) return fault(": ", at(), " end before they begin");
    if (!size.fault.empty()) return fault(", shape ", shape_text(tensor.shape), ": ", size.fault);
    if (size.bytes != tensor.bytes()) {
      return fault(": ", stored_dtype_name(tensor.dtype), " ", shape_text(tensor.shape), " takes ",
                   size.bytes, " bytes, ", at(), " give it ", tensor.bytes());
    }
    if (tensor.begin != previous) {
      return fault(" begins at byte ", tensor.begin, " of the data, the tensor before it ends at ",
                   previous);
    }
    previous = tensor.end;
  }
  return {};
}

std::string name_fault(SafetensorsHeader& header) {
  const std::vector<TensorInfo>& tensors = header.tensors;
  header.by_name.resize(tensors.size());
  std::iota(header.by_name.begin(), header.by_name.end(), 0u);
  std::sort(header.by_name.begin(), header.by_name.end(),
            [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
  const auto same = std::adjacent_find(
      header.by_name.begin(), header.by_name.end(),
      [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name == tensors[b].name; });
  if (same == header.by_name.end()) return {};
  return cat("tensor ", quote(tensors[*same].name), " is in the header twice");
}

std::string header_fault(std::string_view json, bool strict, SafetensorsHeader& header) {
  if (std::string fault = read_entries(json, strict, header); !fault.empty()) return fault;
  const auto before = [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  };
  // Most writers list tensors in order. Empty ones share an offset and stay as they are listed.
  if (!std::is_sorted(header.tensors.begin(), header.tensors.end(), before)) {
    std::stable_sort(header.tensors.begin(), header.tensors.end(), before);
  }
  if (std::string fault = name_fault(header); !fault.empty()) return fault;
  return range_fault(header);
}

}  // namespace

std::uint64_t TensorInfo::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

const TensorInfo* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name.begin(), by_name.end(), name,
      [&](std::uint32_t index, std::string_view wanted) { return tensors[index].name < wanted; });
  if (found == by_name.end() || tensors[*found].name != name) return nullptr;
  return &tensors[*found];
}

TensorSize tensor_size(StoredDType dtype, const std::vector<std::uint64_t>& shape) {
  std::uint64_t elements = 1, bits = 0;
  for (const std::uint64_t dim : shape) {
    if (__builtin_mul_overflow(elements, dim, &elements))
      return {0, "more elements than 64 bits count"};
  }
  const auto width = static_cast<std::uint64_t>(stored_dtype_bits(dtype));
  if (__builtin_mul_overflow(elements, width, &bits)) return {0, "more bits than 64 bits count"};
  if (bits % 8 != 0) return {0, "the elements do not fill whole bytes"};
  return {bits / 8, {}};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t dim : shape) text += cat(text.size() > 1 ? ", " : "", dim);
  return text + "]";
}

Result<std::uint64_t> header_length(const unsigned char prefix[8], std::uint64_t file_bytes,
                                    std::string_view path) {
  if (file_bytes < 8) {
    return corrupt(path, cat("the file has ", file_bytes, " bytes, a header's length takes 8"));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, prefix, sizeof length);
  if (length > kHeaderLimit) {
    return corrupt(path, cat("the header claims ", length, " bytes, the limit is ", kHeaderLimit));
  }
  if (length > file_bytes - 8) {
    return corrupt(
        path, cat("the header claims ", length, " bytes, the file has ", file_bytes - 8, " left"));
  }
  return length;
}

Result<SafetensorsHeader> parse_header(std::string_view json, std::uint64_t file_bytes,
                                       std::string_view path, bool strict) {
  SafetensorsHeader header;
  header.data_begin = 8 + json.size();
  if (std::string fault = header_fault(json, strict, header); !fault.empty()) {
    return corrupt(path, fault);
  }
  const std::uint64_t data = file_bytes - header.data_begin;
  if (header.data_bytes() != data) {
    return corrupt(path, cat("the tensors take ", header.data_bytes(), " bytes, the file has ",
                             data, " bytes of data"));
  }
  return header;
}

}  // namespace diecast
