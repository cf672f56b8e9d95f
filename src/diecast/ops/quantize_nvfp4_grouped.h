// Quantizing the members of a group, such as the experts of a layer, in one launch: equal to the
// bit to quantizing one by one. Where a member's rows are may be known to the device alone.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax_grouped.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantize_nvfp4_tiles.h>
#include <diecast/ops/quantized_group.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace diecast {

struct QuantizeNvfp4GroupedOptions : QuantizeNvfp4TilesOptions {
  // group.members holds the descriptors already (QuantizedGroup::describe, copied to the device; or
  // an earlier call with the same offsets). Else they are made on the device from
  // group.device_row_offsets, which are needed then.
  bool described = false;
};

// x: bf16, f16 or f32, [rows, cols] as group.whole, rows may be apart: members one behind another;
// rows behind the last offset are never read, empty members write nothing. As quantize_nvfp4_tiles
// for each member, with group.whole saying what the outputs are: an amax a member or, row-scaled, a
// row, and a column of each member. Errors: those of QuantizedGroup::check and
// quantize_nvfp4_tiles.
Result<void> quantize_nvfp4_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                    const QuantizeNvfp4GroupedOptions& options = {},
                                    Stream stream = {});

class PreparedQuantizeNvfp4Grouped {
 public:
  static constexpr std::string_view kName = "quantize_nvfp4_grouped";
  struct Request : Nvfp4TilesRequest {
    bool described = false;
    std::uint64_t word() const {
      return (bits() << 1 | static_cast<std::uint64_t>(described)) << 8 |
             static_cast<std::uint64_t>(OpKind::quantize_nvfp4_grouped);
    }
  };
  static Result<PreparedQuantizeNvfp4Grouped> prepare(Runtime& runtime,
                                                      const std::shared_ptr<Device>& device,
                                                      const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // Errors: as quantize_nvfp4_grouped(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedGroup& group, Stream stream) const;

 private:
  Result<void> check(const Tensor& x, const QuantizedGroup& group) const;
  Result<void> find_amaxes(const Tensor& x, const QuantizedGroup& group, Stream stream) const;
  Result<void> describe(const Tensor& x, const QuantizedGroup& group, Stream stream) const;

  Request request_;
  std::shared_ptr<Kernel> describe_;                         // unless described
  std::optional<PreparedAmax> of_rows_;                      // row-scaled, rowwise
  std::optional<PreparedAmaxGrouped> rowwise_, columnwise_;  // the other amaxes that are found
  std::shared_ptr<Kernel> quantize_;
};

}  // namespace diecast
