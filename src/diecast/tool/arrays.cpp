// See arrays.h.
#include <diecast/base/npy.h>
#include <diecast/base/text.h>
#include <diecast/tool/arrays.h>
#include <diecast/tool/given_files.h>

#include <algorithm>

namespace diecast::tool {
namespace {

// As NumPy spells the type that a file of these elements has.
std::string npy_type(DType type) {
  switch (type) {
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::i8:
      return "|i1";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::bf16:
    case DType::u16:
      return "<u2";
    case DType::u32:
      return "<u4";
    case DType::u64:
      return "<u8";
    default:
      return "|u1";
  }
}

// What NumPy writes of types that ml_dtypes adds to it, as its bfloat16.
bool is_bits_of(std::string_view stored, DType type) {
  const bool no_type_of_numpy =
      type == DType::bf16 || type == DType::e4m3 || type == DType::e5m2 || type == DType::e8m0;
  return no_type_of_numpy && stored.substr(1) == cat("V", dtype_bits(type) / 8);
}

}  // namespace

Result<std::vector<std::int64_t>> array_shape(const std::string& path) {
  DIECAST_TRY(NpyArray array, read_npy_header(system_files(), path));
  return std::move(array.shape);
}

Result<Bytes> read_array(const std::string& path, const BoundArgument& tensor,
                         std::span<const std::int64_t> extents) {
  DIECAST_TRY(Bytes file, read_file(system_files(), path, kLargestGiven));
  DIECAST_TRY(const NpyArray array, parse_npy(file, path));
  const std::string type = npy_type(tensor.dtype);
  if (array.type.substr(1) != type.substr(1) && !is_bits_of(array.type, tensor.dtype))
    return Error{ErrorCode::dtype_mismatch,
                 cat(quote(path, 1000), " has elements of the type ", quote(array.type), ", and ",
                     tensor.name, " is ", dtype_name(tensor.dtype)),
                 cat("save it as ", quote(type), type[1] == 'u' ? ", the elements' bits" : "")};
  if (!std::ranges::equal(array.shape, extents))
    return Error{ErrorCode::shape_mismatch,
                 cat(quote(path, 1000), " has the shape ", extents_text(array.shape), ", and ",
                     tensor.name, " is ", extents_text(extents)),
                 "give another file, or the sizes for which it is meant: --size rows=64"};
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(array.begin));
  return file;
}

Result<void> write_array(const std::string& path, const BoundArgument& tensor,
                         std::span<const std::int64_t> extents, ByteSpan elements) {
  DIECAST_TRY(AtomicFile out, AtomicFile::create(system_files(), path));
  DIECAST_CHECK(out.write(npy_header(npy_type(tensor.dtype), extents)));
  DIECAST_CHECK(out.write(elements));
  return out.commit();
}

std::string extents_text(std::span<const std::int64_t> extents) {
  std::vector<std::string> words;
  for (const std::int64_t extent : extents) words.push_back(cat(extent));
  return cat("[", join(words, ", "), "]");
}

std::string place_text(std::span<const std::int64_t> extents, std::int64_t index) {
  std::vector<std::int64_t> place(extents.size());
  for (std::size_t i = extents.size(); i-- > 0; index /= extents[i]) place[i] = index % extents[i];
  return extents_text(place);
}

}  // namespace diecast::tool
