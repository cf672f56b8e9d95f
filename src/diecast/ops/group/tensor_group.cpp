// Checks of pairs of tensors that go through one launch, and their descriptors.
#include <diecast/base/text.h>
#include <diecast/ops/group/group_layout.h>
#include <diecast/ops/group/tensor_group.h>

#include <limits>
#include <string>

namespace diecast {
namespace {

bool has_elements(const QuantizedPair& pair) { return pair.x.rows() > 0 && pair.x.cols() > 0; }

bool alike(const QuantizedTensor& a, const QuantizedTensor& b) {
  return a.type == b.type && a.rowwise.present() == b.rowwise.present() &&
         a.columnwise.present() == b.columnwise.present();
}

// A pair by itself. Names are made where something is wrong.
Result<void> check_pair(const QuantizedPair& pair, std::string_view op, std::size_t index) {
  const auto name = [&](std::string_view part) { return cat("pair ", index, ": ", part); };
  if (!pair.x.check("x")) return pair.x.check(cat(op, ": ", name("x")));
  if (!pair.out.check(op, "out")) return pair.out.check(op, name("out"));
  if (pair.x.rows() != pair.out.rows() || pair.x.cols() != pair.out.cols())
    return shapes_differ(op, name("x"), pair.x.shape, pair.out.shape);
  if (pair.x.device_rows == nullptr) return {};
  return Error{ErrorCode::not_supported,
               cat(op, ": ", name("x"), " has a row count in device memory"),
               "leave x.device_rows null, or make a QuantizedGroup with row counts"};
}

// What pairs have in common.
Result<void> check_against(const QuantizedPair& first, const QuantizedPair& pair,
                           std::string_view op, std::size_t index) {
  if (pair.x.dtype != first.x.dtype) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(op, ": pair ", index, ": x is ", dtype_name(pair.x.dtype), ", others are ",
                     dtype_name(first.x.dtype)),
                 "give matrices of one type"};
  }
  if (alike(pair.out, first.out)) return {};
  return Error{
      ErrorCode::not_supported,
      cat(op, ": pair ", index,
          ": out differs from others in format, block, layout, profile, bound, row scaling "
          "or directions"),
      "describe all outputs alike, or make a group of each kind"};
}

}  // namespace

std::int64_t TensorGroup::rows() const {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const QuantizedPair& pair : pairs) {
    sum = pair.x.rows() > most - sum ? most : sum + pair.x.rows();
  }
  return sum;
}

const QuantizedPair* TensorGroup::first() const {
  for (const QuantizedPair& pair : pairs) {
    if (has_elements(pair)) return &pair;
  }
  return pairs.empty() ? nullptr : &pairs[0];
}

Result<void> TensorGroup::check_pairs(std::string_view op) const {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    DIECAST_CHECK(check_pair(pairs[i], op, i));
    if (pairs[i].x.cols() == cols()) continue;
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": pairs of ", cols(), " and of ", pairs[i].x.cols(), " columns"),
                 "make a group of each number of columns"};
  }
  const QuantizedPair* const one = first();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (has_elements(pairs[i])) DIECAST_CHECK(check_against(*one, pairs[i], op, i));
  }
  if (rows() < std::numeric_limits<std::int64_t>::max()) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(op, ": ", pairs.size(), " pairs have more rows than fit in 63 bits"),
               "make smaller groups"};
}

Result<void> TensorGroup::check(std::string_view op) const {
  DIECAST_CHECK(check_pairs(op));
  if (members != nullptr || pairs.empty()) return {};
  return Error{
      ErrorCode::missing_buffer, cat(op, ": the descriptors are null"),
      cat("describe() the pairs and copy the ", pairs.size(), " descriptors to device memory")};
}

Result<void> TensorGroup::describe(MemberDescriptor* out) const {
  DIECAST_CHECK(check_pairs("describe"));
  if (out == nullptr && !pairs.empty()) return no_room_for_descriptors(count());
  std::int64_t row_begin = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [x, quantized] = pairs[i];
    out[i] = MemberDescriptor{};
    out[i].matrix = reinterpret_cast<std::uintptr_t>(x.data);
    out[i].row_begin = row_begin;
    out[i].rows = x.rows();
    out[i].stride = x.stride();
    place_sides(out[i], quantized, {});
    row_begin += x.rows();
  }
  return {};
}

}  // namespace diecast
