// A checkpoint's weights of NVFP4 or MXFP4 into the tiles that `linear` multiplies, and back.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/linear/packed_linear.h>
#include <diecast/ops/one_kernel.h>

#include <cstdint>
#include <memory>

namespace diecast {

// What packing found, in device memory. Of scales that a product cannot hold with x of bf16, with x
// of f16: how many, and the first row of one (~0: none; of several weights the row in each). NVFP4:
// NaN. MXFP4: scales outside 2 to 135, outside 111 to 135, of blocks with a code that is not zero.
struct PackLinearStatus {
  std::uint32_t not_bf16, not_f16, first_row_not_bf16, first_row_not_f16;
};

struct PackLinearOptions {
  PackLinearStatus* status = nullptr;  // written, where it is given; nothing waits for it
  std::shared_ptr<Device> device{};    // null: Runtime::default_device()
};

// Many weights in one launch are those of one shape that lie one behind another, [weights, rows,
// cols], as the experts of a layer. Weights that one product takes together, under one global
// scale, as q, k and v, are one weight, their rows stacked. Those of whole 64 rows need not lie
// together for that: the stack's bytes are those of each, one behind another, so that each may be
// packed into its place by a launch of its own. Gate and up share tiles, so that one launch packs
// both, of one tensor or of two. Parts with global scales of their own: LinearOptions::factors.
//
// Packs the weights into packed.data, in one launch: all bytes of it, so that a captured `linear`
// takes new weights in the same place. A block with a scale of zero becomes one of +0 under a scale
// of one; of a negative scale the codes' signs turn; an MXFP4 block of zeros may get a scale of
// one. Errors: those of LinearWeight::check and PackedLinear::check, shape_mismatch (packed is of
// another shape or format), invalid_argument (packed lies on the weight; gate and up are two
// tensors, and packed.gated is not halves), those of preparing.
Result<void> pack_linear(Runtime& runtime, const LinearWeight& weight, const PackedLinear& packed,
                         const PackLinearOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_pack_linear(const LinearWeight& weight, const PackedLinear& packed);

// The checkpoint's bytes again, where scales are positive and could be held; else as packing made
// them. Errors: as pack_linear; not_supported (a weight of two tensors: gate and up come back as
// halves of one).
Result<void> unpack_linear(Runtime& runtime, const PackedLinear& packed, const LinearWeight& weight,
                           const std::shared_ptr<Device>& device = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_unpack_linear(const PackedLinear& packed, const LinearWeight& weight);

struct PackLinearRequest {
  static constexpr std::string_view kName = "pack_linear";
  Format format = Format::nvfp4;
  Gated gated = Gated::none;
  bool status = false;  // it is given
  bool apart = false;   // gate and up are two tensors

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("FORMAT", self.format), as("GATED", self.gated), as("HAS_STATUS", self.status);
    as("apart", self.apart);
  }
  // What these operands ask for.
  static PackLinearRequest of(const LinearWeight& weight, const PackedLinear& packed,
                              const PackLinearStatus* status);
  KernelWanted kernel(const DeviceProperties&) const;
};

class PreparedPackLinear : public OneKernel<PreparedPackLinear, PackLinearRequest> {
 public:
  // Errors: as pack_linear(); not_supported for what the request does not say.
  Result<void> run(const LinearWeight& weight, const PackedLinear& packed, Stream stream,
                   PackLinearStatus* status = nullptr) const;

 private:
  friend Result<void> pack_linear(Runtime&, const LinearWeight&, const PackedLinear&,
                                  const PackLinearOptions&, Stream);
  // run() of a pair that is checked.
  Result<void> pack(const LinearWeight& weight, const PackedLinear& packed, Stream stream,
                    PackLinearStatus* status) const;
};

struct UnpackLinearRequest {
  static constexpr std::string_view kName = "unpack_linear";
  Format format = Format::nvfp4;
  Gated gated = Gated::none;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("FORMAT", self.format), as("GATED", self.gated);
  }
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
};

class PreparedUnpackLinear : public OneKernel<PreparedUnpackLinear, UnpackLinearRequest> {
 public:
  // Errors: as unpack_linear(); not_supported for what the request does not say.
  Result<void> run(const PackedLinear& packed, const LinearWeight& weight, Stream stream) const;

 private:
  friend Result<void> unpack_linear(Runtime&, const PackedLinear&, const LinearWeight&,
                                    const std::shared_ptr<Device>&, Stream);
  // run() of a pair that is checked.
  Result<void> unpack(const PackedLinear& packed, const LinearWeight& weight, Stream stream) const;
};

}  // namespace diecast
