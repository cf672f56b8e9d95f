// What the ops that quantize to NVFP4 read alike: of a matrix, and of a group's members.
#pragma once

#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>

#include <string_view>

namespace diecast::c {

// Which of amax, encode and decode is given for a direction; at most one.
struct GivenScale {
  GlobalScale global = GlobalScale::amax;
  const diecast_tensor* tensor = nullptr;
};
inline Result<GivenScale> given_scale(const diecast_tensor* amax, const diecast_tensor* encode,
                                      const diecast_tensor* decode, std::string_view op) {
  if ((amax != nullptr) + (encode != nullptr) + (decode != nullptr) > 1) {
    return Error{ErrorCode::invalid_argument, cat(op, ": two global scales are given"),
                 "pass one of amax, encode and decode"};
  }
  if (encode != nullptr) return GivenScale{GlobalScale::encode, encode};
  if (decode != nullptr) return GivenScale{GlobalScale::decode, decode};
  return GivenScale{GlobalScale::amax, amax};
}

// The type that codes are of, by the options that several ops have.
template <class Options>
Result<QuantizedType> nvfp4_type(const Options& options, std::string_view op) {
  QuantizedType type;
  DIECAST_TRY(type.layout, read_word<ScaleLayout>(options.layout, op, "layout"));
  DIECAST_TRY(type.profile, read_word<Profile>(options.profile, op, "profile"));
  DIECAST_TRY(const std::int64_t bound, read_count(options.e4m3_bound, 448, op, "e4m3_bound"));
  type.e4m3_bound = static_cast<std::uint16_t>(bound);
  type.square = options.square != 0;
  type.row_scaled = options.row_scaled != 0;
  DIECAST_CHECK(type.check());
  return type;
}

// Four over six, the transform and the state of random numbers.
template <class Tensors, class Options>
Result<void> read_nvfp4_options(QuantizeNvfp4Options& to, const Tensors& t, const Options& o,
                                std::string_view op) {
  DIECAST_TRY(to.four_over_six, read_word<FourOverSix>(o.four_over_six, op, "four_over_six"));
  DIECAST_TRY(to.rht, read_word<TransformedSides>(o.rht, op, "rht"));
  DIECAST_TRY(const std::int64_t mask, read_count(o.sign_mask, 0xFFFF, op, "sign_mask"));
  to.sign_mask = static_cast<std::uint16_t>(mask);
  if (t.rng_state == nullptr) return {};
  DIECAST_TRY(to.rng_state, integers_of(t.rng_state, 2, {op, "rng_state"}));
  return {};
}

}  // namespace diecast::c
