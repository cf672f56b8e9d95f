// pack_linear and unpack_linear: one launch each.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/linear/pack_linear.h>

namespace diecast {
namespace {

// Bytes [a, a + of_a) and [b, b + of_b) have some in common.
bool overlap(const void* a, std::int64_t of_a, const void* b, std::int64_t of_b) {
  const auto from_a = reinterpret_cast<std::uintptr_t>(a);
  const auto from_b = reinterpret_cast<std::uintptr_t>(b);
  return from_a < from_b + static_cast<std::uintptr_t>(of_b) &&
         from_b < from_a + static_cast<std::uintptr_t>(of_a);
}

// That both are whole, of one format and shape, and not in one place.
Result<void> check_pair(std::string_view op, const LinearWeight& weight,
                        const PackedLinear& packed) {
  DIECAST_CHECK(packed.check(op));
  DIECAST_CHECK(weight.check(op));
  if (weight.format != packed.format || weight.shape != packed.shape) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": the weight is ", word(weight.format), " ", weight.shape.text(),
                     ", packed is ", word(packed.format), " ", packed.shape.text()),
                 "describe packed as the weight is"};
  }
  if (weight.is_apart() && packed.gated != Gated::halves) {
    return Error{ErrorCode::invalid_argument,
                 cat(op, ": gate and up are two tensors, and packed.gated is ", word(packed.gated)),
                 "describe packed with gated = halves"};
  }
  const std::int64_t elements = weight.shape.rows() * weight.shape.cols();
  const std::int64_t of_each = weight.is_apart() ? elements / 2 : elements;
  DIECAST_TRY(const std::int64_t bytes, PackedLinear::bytes_for(packed.format, packed.shape));
  const auto lies_on = [&](const void* data, std::int64_t count) {
    return data != nullptr && overlap(packed.data, bytes, data, count);
  };
  const std::int64_t scales = of_each / block_of(weight.format);
  if (!lies_on(weight.codes, of_each / 2) && !lies_on(weight.scales, scales) &&
      !lies_on(weight.up_codes, of_each / 2) && !lies_on(weight.up_scales, scales))
    return {};
  return Error{ErrorCode::invalid_argument, cat(op, ": packed lies on the weight"),
               "give packed a buffer of its own"};
}

}  // namespace

Result<void> check_pack_linear(const LinearWeight& weight, const PackedLinear& packed) {
  return check_pair(PackLinearRequest::kName, weight, packed);
}

Result<void> check_unpack_linear(const PackedLinear& packed, const LinearWeight& weight) {
  constexpr std::string_view op = UnpackLinearRequest::kName;
  DIECAST_CHECK(check_pair(op, weight, packed));
  if (!weight.is_apart()) return {};
  return Error{ErrorCode::not_supported, cat(op, ": the weight is of two tensors"),
               "unpack to one, whose halves are gate and up"};
}

PackLinearRequest PackLinearRequest::of(const LinearWeight& weight, const PackedLinear& packed,
                                        const PackLinearStatus* status) {
  return {packed.format, packed.gated, status != nullptr, weight.is_apart()};
}

KernelWanted PackLinearRequest::kernel(const DeviceProperties&) const {
  Bindings of_two;
  if (apart) of_two.set("GATED", "apart");
  return kernel_of(kName, *this, std::move(of_two));
}

Result<void> PreparedPackLinear::run(const LinearWeight& weight, const PackedLinear& packed,
                                     Stream stream, PackLinearStatus* status) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_pack_linear(weight, packed));
  const Request asked = Request::of(weight, packed, status);
  if (asked != request_) return not_as_prepared(kName, "the call", request_, asked);
  return pack(weight, packed, stream, status);
}

Result<void> PreparedPackLinear::pack(const LinearWeight& weight, const PackedLinear& packed,
                                      Stream stream, PackLinearStatus* status) const {
  if (status != nullptr) {
    constexpr std::size_t kHalf = sizeof *status / 2;  // counts, then rows
    DIECAST_CHECK(kernel_->device().fill(status, 0, kHalf, stream));
    DIECAST_CHECK(kernel_->device().fill(&status->first_row_not_bf16, 0xFF, kHalf, stream));
  }
  return launch(args::PackLinear{.codes = weight.codes,
                                 .scales = weight.scales,
                                 .up_codes = weight.up_codes,
                                 .up_scales = weight.up_scales,
                                 .packed = packed.data,
                                 .status = status,
                                 .batch = packed.weights(),
                                 .rows = packed.rows(),
                                 .cols = packed.cols()},
                stream);
}

Result<void> PreparedUnpackLinear::run(const PackedLinear& packed, const LinearWeight& weight,
                                       Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_unpack_linear(packed, weight));
  const Request asked{packed.format, packed.gated};
  if (asked != request_) return not_as_prepared(kName, "packed", request_, asked);
  return unpack(packed, weight, stream);
}

Result<void> PreparedUnpackLinear::unpack(const PackedLinear& packed, const LinearWeight& weight,
                                          Stream stream) const {
  return launch(args::UnpackLinear{.packed = packed.data,
                                   .codes = weight.codes,
                                   .scales = weight.scales,
                                   .batch = packed.weights(),
                                   .rows = packed.rows(),
                                   .cols = packed.cols()},
                stream);
}

Result<void> pack_linear(Runtime& runtime, const LinearWeight& weight, const PackedLinear& packed,
                         const PackLinearOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_CHECK(check_pack_linear(weight, packed));
  const auto request = PackLinearRequest::of(weight, packed, options.status);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedPackLinear>(runtime, device, request, stream));
  return prepared->pack(weight, packed, stream, options.status);
}

Result<void> unpack_linear(Runtime& runtime, const PackedLinear& packed, const LinearWeight& weight,
                           const std::shared_ptr<Device>& device, Stream stream) {
  DIECAST_TRY(const auto own, device_or_default(runtime, device));
  DIECAST_CHECK(check_unpack_linear(packed, weight));
  const UnpackLinearRequest request{packed.format, packed.gated};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedUnpackLinear>(runtime, own, request, stream));
  return prepared->unpack(packed, weight, stream);
}

}  // namespace diecast
