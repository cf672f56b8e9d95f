// Quantizing a matrix to NVFP4 along its rows, its columns or both, reading it once, in blocks of
// 1x16 or 16x16: what quantize_nvfp4 does for rows alone.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace diecast {

// The directions whose blocks of 16 go through the random Hadamard transform first. (Transformer
// Engine transforms the columns' alone.)
enum class TransformedSides : std::uint8_t { none, rowwise, columnwise, both };

// The amax of each block of a matrix [R, C], and of its transpose: f32 [R, ceil_div(C, 16)] in
// device memory, of 16x16 blocks [ceil_div(R, 16), ceil_div(C, 16)]. The tensor's amaxes are then
// given too. Those of a group lie one member behind another, a member's in the place that they
// would take if all of its rows were real. Null: each block's own.
struct BlockAmaxes {
  const float* rowwise = nullptr;
  const float* columnwise = nullptr;
  bool given() const { return rowwise != nullptr || columnwise != nullptr; }
};

struct QuantizeNvfp4TilesOptions {
  // out.rowwise.amax and out.columnwise.amax hold the amaxes; else they are found, each of what its
  // direction quantizes: the same number twice unless row-scaled or transformed.
  bool amax_given = false;
  std::shared_ptr<Device> device{};        // null: Runtime::default_device()
  GlobalScale global = GlobalScale::amax;  // what those hold; encode, decode: given
  FourOverSix four_over_six = FourOverSix::off;
  TransformedSides rht = TransformedSides::none;
  std::uint16_t sign_mask = kHadamardSigns;  // rht: bit i flips the sign of element i of a block
  BlockAmaxes block_amax{};                  // profile modelopt: from calibration
  // Stochastic rounding, as in QuantizeNvfp4Options; each member of a group draws the same numbers.
  const std::int64_t* rng_state = nullptr;
};

// The properties of x, the output and the options that choose the kernels.
struct Nvfp4TilesRequest {
  DType in = DType::bf16;
  bool rowwise = true, columnwise = true;  // at least one
  int block_rows = 1;                      // or 16
  bool row_scaled = false;
  bool amax_given = false;
  RowsClass rows = RowsClass::apart;  // promised of every x to come: see rows_class()
  Profile profile = Profile::te;
  std::int64_t cols = 0;  // not 0: the kernels are made for this row length
  GlobalScale global = GlobalScale::amax;
  ScaleLayout layout = ScaleLayout::linear;
  FourOverSix four_over_six = FourOverSix::off;
  int e4m3_bound = 448;
  TransformedSides rht = TransformedSides::none;
  std::uint16_t sign_mask = 0;  // 0 without rht
  bool block_amax = false;
  bool stochastic = false;

  bool finds_amax() const { return !amax_given && global == GlobalScale::amax && !block_amax; }
  // Whether both directions have one and the same amax.
  bool shares_amax() const;
  AmaxNans nans() const;
  AmaxTransform transform(bool of_columns) const;
  // Of everything but cols: only requests without a fixed row length are kept by it.
  RequestWord<62> fields(OpKind kind) const;
  bool operator==(const Nvfp4TilesRequest&) const = default;
  Bindings bindings(bool grouped, const Device& device) const;
};
Nvfp4TilesRequest nvfp4_tiles_request(const Tensor& x, const QuantizedTensor& out,
                                      const QuantizeNvfp4TilesOptions& options);
// Whether there is nothing to do: x has no elements, and `out` no amax to be found.
bool is_nothing(const Tensor& x, const QuantizedTensor& out);
// That `out` is NVFP4 and as the request says. Errors: not_supported.
Result<void> check_nvfp4_tiles(const Nvfp4TilesRequest& request, const QuantizedTensor& out,
                               std::string_view op);
// That block amaxes are there for the directions that the request says, and for no other. Errors:
// missing_buffer, not_supported.
Result<void> check_block_amaxes(const Nvfp4TilesRequest& request, const BlockAmaxes& given,
                                std::string_view op);

// x: bf16, f16, f32, or e4m3 (no transform), [rows, cols], rows may be apart. out: NVFP4 of x's
// shape; the directions whose buffers are present are written, padding included.
// Block, profile, scale layout, E4M3 bound and row scaling are out's. In 16x16 blocks the
// columnwise output is the rowwise one's transpose where amaxes are equal and nothing is
// transformed. With x.device_rows the columnwise buffers are as for that many rows. Bits:
// templates/PROFILES.md. Errors: dtype_mismatch, missing_buffer, misaligned, shape_mismatch,
// not_supported, constraint_violated (an option that the profile has not), and those of preparing.
Result<void> quantize_nvfp4_tiles(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                                  const QuantizeNvfp4TilesOptions& options = {},
                                  Stream stream = {});

class PreparedQuantizeNvfp4Tiles {
 public:
  static constexpr std::string_view kName = "quantize_nvfp4_tiles";
  struct Request : Nvfp4TilesRequest {
    std::uint64_t word() const { return fields(OpKind::quantize_nvfp4_tiles).word(); }
    // What quantize_nvfp4_tiles() prepares for such arguments.
    static Request of(const Tensor& x, const QuantizedTensor& out,
                      const QuantizeNvfp4TilesOptions& options = {}) {
      return {nvfp4_tiles_request(x, out, options)};
    }
  };
  static Result<PreparedQuantizeNvfp4Tiles> prepare(Runtime& runtime,
                                                    const std::shared_ptr<Device>& device,
                                                    const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // block_amax: of the directions that are written; rng_state: as in the options; both where the
  // request says so. Errors: as quantize_nvfp4_tiles(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream,
                   const BlockAmaxes& block_amax = {},
                   const std::int64_t* rng_state = nullptr) const;

 private:
  Result<void> check(const Tensor& x, const QuantizedTensor& out,
                     const BlockAmaxes& block_amax) const;

  Request request_;
  std::optional<PreparedAmax> rowwise_amax_, columnwise_amax_;  // those that are found
  std::shared_ptr<Kernel> quantize_;
};

}  // namespace diecast
