// The product of two NVFP4 matrices on every target, exact but for the additions that its order
// states: out [M, N] = a [M, K] times the transpose of b [N, K]. Where both hold one amax for all,
// the global scale is in the product's factor; a row-scaled operand (an amax a row) has its scales
// applied to the sums. templates/PROFILES.md has the order and the formulas.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace diecast {

struct GemmNvfp4Options {
  float alpha = 1.0f;            // times the sums, before bias
  std::optional<Tensor> bias{};  // bf16, f16 or f32 [N], added in f32; of a group [members, N]
  bool accumulate = false;       // out += the product, in out's type
  bool gradient = false;  // the product is a gradient: neither bias nor row scales go with it
  // Which sides are read, as Transformer Engine says it: b's (the weight's) first, T: rowwise, N:
  // columnwise; then a's, N: rowwise, T: columnwise. TN, NN or NT. The columnwise side of a [K, M]
  // serves as a [M, K].
  std::string_view layout = "TN";
  // Whose code makes the product.
  //   own       the kernels of here: the same bits on every GPU and on the host
  //   unpacked  the bits of own, on GPUs of compute capability 9.0: both operands are unpacked into
  //             scratch, and wgmma multiplies them there, which is faster for large products; not
  //             groups
  //   cublaslt  NVIDIA's library, opened at run time, on GPUs with FP4 tensor cores: sums in an
  //             order of its own, which may change with its version and the GPU; scales, bias, cast
  //             and accumulation as own. Operands with s128x4 scales, K in 32s, N in 8s; not
  //             groups.
  //   auto      cublaslt for what it takes, else unpacked where that is faster, else own: by GPU,
  //             library, operands, scratch and what the library's heuristics have, so that bits may
  //             differ between machines
  // On no GPU was cublaslt run here: its arguments are tested through a fake library.
  std::string_view path = "own";
  // Device memory of one stream, from a multiple of 256 bytes on; as many bytes as scratch_bytes()
  // of GemmUnpackedRequest or GemmCublasltRequest says.
  void* scratch = nullptr;
  std::int64_t scratch_bytes = 0;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// How much of out a thread block makes, and with what: tensor cores on f16 or on bytes, or dot
// products of bytes without them (in small tiles alone). Speed only: the bits are the same.
enum class GemmTile : std::uint8_t { small, large };
constexpr auto words_of(GemmTile) { return std::to_array<std::string_view>({"small", "large"}); }
enum class GemmMath : std::uint8_t { f16, s8, dp4a };
constexpr auto words_of(GemmMath) { return std::to_array<std::string_view>({"f16", "s8", "dp4a"}); }

// Which operands of a group are read along their columns: those of TN, NN, NT.
enum class GemmColumns : std::uint8_t { none, b, both };
constexpr auto words_of(GemmColumns) {
  return std::to_array<std::string_view>({"none", "b", "both"});
}

// a: the activation; b: the weight; both NVFP4 with scales of one layout, K whole blocks of 16, and
// amaxes as they were found or given (not another GlobalScale in their place).
// out: bf16, f16 or f32 [M, N], dense; nothing is done where it has no elements. Errors:
// value_not_allowed (layout letters, path), dtype_mismatch (out, bias), shape_mismatch (K, M, N,
// bias, amax counts), missing_buffer (a side, an amax), not_supported (another format, two scale
// layouts, bias or row scales with gradient, a row-scaled `a` read columnwise, rows of out apart or
// counted on the device, K or a scale stride above 2^24), those of preparing, and those of
// PreparedGemmUnpacked and PreparedGemmCublaslt where path is theirs.
Result<void> gemm_nvfp4(Runtime& runtime, const QuantizedTensor& a, const QuantizedTensor& b,
                        const Tensor& out, const GemmNvfp4Options& options = {},
                        Stream stream = {});

// Which of "own", "unpacked" and "cublaslt" a call with these operands takes; check() of
// PreparedGemmUnpacked and PreparedGemmCublaslt says why it is not theirs. Nothing is enqueued.
// Errors: as gemm_nvfp4.
Result<std::string_view> gemm_nvfp4_path(Runtime& runtime, const QuantizedTensor& a,
                                         const QuantizedTensor& b, const Tensor& out,
                                         const GemmNvfp4Options& options);

// Each member of a group times that of the other, as gemm_nvfp4 of the two; both groups'
// descriptors have been made (by quantizing into them, or QuantizedGroup::describe). What is read
// is whole blocks of 16: behind a member's last row of a columnwise side what the quantizers put
// there.
//   TN  rows of out of member i = a's member times the transpose of b's, each [N, K]
//   NN  the same, of the columns of b's, each [K, N] with the K columns of a
//   NT  out [count, M, N] = the transpose of a's [rows, M] times b's [rows, N], rows of a member
//       alike in both groups; of a member without rows the product of nothing, 0
// TN and NN skip members of `a` without rows and do not write rows of nobody. Errors: as gemm_nvfp4
// and QuantizedGroup::check; shape_mismatch (how many members; members of b without N or K rows
// each; NT: members of unequal rows), not_supported (row counts of b unless NT, path cublaslt),
// misaligned (codes, amaxes).
Result<void> gemm_nvfp4_grouped(Runtime& runtime, const QuantizedGroup& a, const QuantizedGroup& b,
                                const Tensor& out, const GemmNvfp4Options& options = {},
                                Stream stream = {});

// The errors of gemm_nvfp4 and gemm_nvfp4_grouped that no device decides.
Result<void> check_gemm(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                        const GemmNvfp4Options& options);
Result<void> check_gemm(const QuantizedGroup& a, const QuantizedGroup& b, const Tensor& out,
                        const GemmNvfp4Options& options);

struct GemmNvfp4Request {
  static constexpr std::string_view kName = "gemm_nvfp4";
  DType out = DType::bf16;
  ScaleLayout layout = ScaleLayout::linear;
  bool a_rows = false, b_rows = false;  // row-scaled
  bool bias = false;
  DType bias_type = DType::f32;  // f32 without a bias
  bool accumulate = false;
  // K whole pairs of blocks, codes from multiples of 16 bytes on: of each member, where columns of
  // both are read, which the host must know then.
  bool aligned = true;
  bool grouped = false;
  GemmColumns columns = GemmColumns::none;  // of a group
  GemmTile tile = GemmTile::large;
  GemmMath math = GemmMath::f16;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("OUT", self.out), as("LAYOUT", self.layout);
    as("A_ROW_SCALE", self.a_rows), as("B_ROW_SCALE", self.b_rows);
    as("BIAS", self.bias), as("BIAS_TYPE", self.bias_type), as("ACCUMULATE", self.accumulate);
    as("ALIGNED", self.aligned), as("GROUPED", self.grouped), as("COLUMNWISE_OF", self.columns);
    as("tile", self.tile), as("math", self.math);
  }
  // What these operands ask for.
  static GemmNvfp4Request of(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                             const GemmNvfp4Options& options, const DeviceProperties& device);
  static GemmNvfp4Request of(const QuantizedGroup& a, const QuantizedGroup& b, const Tensor& out,
                             const GemmNvfp4Options& options, const DeviceProperties& device);
  KernelWanted kernel(const DeviceProperties& device) const;
};

// Path own; PreparedGemmUnpacked and PreparedGemmCublaslt are the others.
class PreparedGemmNvfp4 : public OneKernel<PreparedGemmNvfp4, GemmNvfp4Request> {
 public:
  // Errors: as gemm_nvfp4(); misaligned where codes break `aligned`; not_supported for path
  // cublaslt.
  Result<void> run(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                   const GemmNvfp4Options& options, Stream stream) const;
  Result<void> run(const QuantizedGroup& a, const QuantizedGroup& b, const Tensor& out,
                   const GemmNvfp4Options& options, Stream stream) const;

 private:
  friend Result<void> gemm_nvfp4(Runtime&, const QuantizedTensor&, const QuantizedTensor&,
                                 const Tensor&, const GemmNvfp4Options&, Stream);
  friend Result<void> gemm_nvfp4_grouped(Runtime&, const QuantizedGroup&, const QuantizedGroup&,
                                         const Tensor&, const GemmNvfp4Options&, Stream);
  Result<void> check_request(Request asked) const;
  // run() of operands that are checked.
  Result<void> multiply(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                        const GemmNvfp4Options& options, Stream stream) const;
  Result<void> multiply(const QuantizedGroup& a, const QuantizedGroup& b, const Tensor& out,
                        const GemmNvfp4Options& options, Stream stream) const;
};

}  // namespace diecast
