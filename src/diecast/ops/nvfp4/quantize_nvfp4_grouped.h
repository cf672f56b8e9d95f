// Quantizing the members of a group, such as the experts of a layer, or tensors that lie anywhere,
// in one launch: equal to the bit to quantizing one by one. Where a member's rows are, and how many
// of them are real, may be known to the device alone.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax/amax_grouped.h>
#include <diecast/ops/group/describe_group.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/group/tensor_group.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

struct QuantizeNvfp4GroupedOptions : QuantizeNvfp4Options {
  // group.members holds the descriptors already (QuantizedGroup::describe of this x, copied to the
  // device; or an earlier call with the same x, offsets and row counts). Else they are made on the
  // device from group.device_row_offsets, which are needed then, and group.device_row_counts.
  bool described = false;
};

// x: bf16, f16, f32 or e4m3, [rows, cols] as group.whole, rows may be apart: members one behind
// another; rows behind the last offset, and those of a member that its row count leaves out, are
// never read and nothing is written for them; empty members write nothing but an amax of 0 that is
// found. As quantize_nvfp4 for each member, with group.whole saying what the outputs are: an
// amax a member or, row-scaled, a row, and a column of each member. Errors: those of
// QuantizedGroup::check and quantize_nvfp4; missing_buffer (offsets or counts that only the
// host has, where nothing is described).
Result<void> quantize_nvfp4_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                    const QuantizeNvfp4GroupedOptions& options = {},
                                    Stream stream = {});

// Its errors that no device decides.
Result<void> check_quantize_nvfp4_grouped(const Tensor& x, const QuantizedGroup& group);

// Each pair as quantize_nvfp4 of it; group.members holds the descriptors of the pairs. Amaxes
// that are found are cleared first, neighbours in memory at once: best they lie in one array.
// Errors: those of TensorGroup::check and quantize_nvfp4.
Result<void> quantize_nvfp4_grouped(Runtime& runtime, const TensorGroup& group,
                                    const QuantizeNvfp4Options& options = {}, Stream stream = {});

struct QuantizeNvfp4GroupedRequest : QuantizeNvfp4Request {
  static constexpr std::string_view kName = "quantize_nvfp4_grouped";
  bool described = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    QuantizeNvfp4Request::fields(self, as);
    as("described", self.described);
  }
  static QuantizeNvfp4GroupedRequest of(const Tensor& x, const QuantizedTensor& out,
                                        const QuantizeNvfp4Options& options, bool described);
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedQuantizeNvfp4Grouped {
 public:
  using Request = QuantizeNvfp4GroupedRequest;
  static constexpr std::string_view kName = Request::kName;
  static Result<PreparedQuantizeNvfp4Grouped> prepare(Runtime& runtime,
                                                      const std::shared_ptr<Device>& device,
                                                      const Request& request);

  const Request& request() const { return request_; }
  // block_amax: of the directions that are written; rng_state: as in the options; both where the
  // request says so. Errors: as quantize_nvfp4_grouped(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedGroup& group, Stream stream,
                   const BlockAmaxes& block_amax = {},
                   const std::int64_t* rng_state = nullptr) const;
  Result<void> run(const TensorGroup& group, Stream stream, const BlockAmaxes& block_amax = {},
                   const std::int64_t* rng_state = nullptr) const;

 private:
  Result<void> check(const Tensor& x, const QuantizedGroup& group) const;
  Result<void> check(const TensorGroup& group) const;
  Result<void> check_rows(const Tensor& x) const;
  template <class Group>
  Result<void> find_amaxes(const Group& group, Stream stream) const;
  Result<void> launch(const MemberDescriptor* members, DType in, std::int64_t rows,
                      std::int64_t cols, std::int64_t count, const BlockAmaxes& block_amax,
                      const std::int64_t* rng_state, Stream stream) const;

  Request request_;
  std::optional<PreparedDescribeGroup> describe_;            // unless described
  std::optional<PreparedAmaxGrouped> rowwise_, columnwise_;  // the amaxes that are found
  std::shared_ptr<Kernel> quantize_;
};

}  // namespace diecast
