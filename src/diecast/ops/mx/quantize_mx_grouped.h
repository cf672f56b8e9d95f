// Quantizing the members of a group to MXFP8 or MXFP4 in one launch, such as the experts of a
// layer, or tensors that lie anywhere: equal to the bit to quantizing one by one. Where a member's
// rows are, and how many of them are real, may be known to the device alone.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/group/describe_group.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/group/tensor_group.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

struct QuantizeMxGroupedOptions : QuantizeMxOptions {
  // group.members holds the descriptors already (QuantizedGroup::describe of this x, copied to the
  // device; or an earlier call with the same x, offsets and row counts). Else they are made on the
  // device from group.device_row_offsets, which are needed then, and group.device_row_counts.
  bool described = false;
};

// x: bf16, f16 or f32, [rows, cols] as group.whole, rows may be apart: members one behind another;
// rows behind the last offset, and those of a member that its row count leaves out, are never read
// and nothing is written for them; empty members write nothing. As quantize_mx for each member,
// with group.whole saying what the outputs are. Errors: those of QuantizedGroup::check and
// quantize_mx; misaligned, missing_buffer (offsets or counts that only the host has, where nothing
// is described).
Result<void> quantize_mx_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                 const QuantizeMxGroupedOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_quantize_mx_grouped(const Tensor& x, const QuantizedGroup& group);

// Each pair as quantize_mx of it; group.members holds the descriptors of the pairs. Errors: those
// of TensorGroup::check and quantize_mx; misaligned.
Result<void> quantize_mx_grouped(Runtime& runtime, const TensorGroup& group,
                                 const QuantizeMxOptions& options = {}, Stream stream = {});

struct QuantizeMxGroupedRequest : QuantizeMxRequest {
  static constexpr std::string_view kName = "quantize_mx_grouped";
  bool described = false;  // as in the options; always so of pairs

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    QuantizeMxRequest::fields(self, as);
    as("described", self.described);
  }
  // What a group asks for: x and out are its matrix and group.whole, or one pair of a TensorGroup.
  static QuantizeMxGroupedRequest of(const Tensor& x, const QuantizedTensor& out, MxMode mode,
                                     bool described);
  // The kernel that quantizes; kernels() has the one that describes before it, if one does.
  KernelWanted kernel(const DeviceProperties& device) const;
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedQuantizeMxGrouped {
 public:
  using Request = QuantizeMxGroupedRequest;
  static constexpr std::string_view kName = Request::kName;
  static Result<PreparedQuantizeMxGrouped> prepare(Runtime& runtime,
                                                   const std::shared_ptr<Device>& device,
                                                   const Request& request);

  const Request& request() const { return request_; }
  // Errors: as quantize_mx_grouped(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedGroup& group, Stream stream) const;
  Result<void> run(const TensorGroup& group, Stream stream) const;

 private:
  Result<void> check_pair(const Tensor& x, const QuantizedTensor& out) const;
  Result<void> launch(const MemberDescriptor* members, std::int64_t rows, std::int64_t cols,
                      std::int64_t count, Stream stream) const;

  Request request_;
  std::optional<PreparedDescribeGroup> describe_;  // unless described
  std::shared_ptr<Kernel> quantize_;
};

}  // namespace diecast
