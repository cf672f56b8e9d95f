// quantize_nvfp4's edges and properties on the host, and rows that lie far apart.
#include <sys/mman.h>

#include "ops/any_amax.h"
#include "ops/host_device_test.h"
#include "ops/nvfp4_properties.h"

namespace diecast::testing {
namespace {

using Nvfp4OnHost = HostDeviceTest;

TEST_F(Nvfp4OnHost, EdgesAreAsTheReferenceHasThem) { expect_edges_as_the_reference(device_); }
TEST_F(Nvfp4OnHost, TransformsAreAsTheReferenceHasThem) {
  expect_transforms_as_the_reference(device_);
}
TEST_F(Nvfp4OnHost, EveryPatternIsAsTheReferenceHasIt) {
  expect_every_pattern_as_the_reference(device_);
}
TEST_F(Nvfp4OnHost, UnderAnyAmaxIsAsTheReferenceHasIt) {
  expect_any_amax_as_the_reference(device_, 8);
}
TEST_F(Nvfp4OnHost, NearTiesAreAsTheReferenceHasThem) {
  expect_near_ties_as_the_reference(device_);
}
TEST_F(Nvfp4OnHost, RowsAreTheSameOneByOne) { expect_rows_one_by_one(device_); }
TEST_F(Nvfp4OnHost, APowerOfTwoChangesTheAmaxAlone) {
  expect_powers_of_two_change_nothing(device_);
}
TEST_F(Nvfp4OnHost, EqualAmaxesOfRowsAreOneAmax) { expect_equal_amaxes_to_be_one(device_); }
TEST_F(Nvfp4OnHost, LayoutsMoveBytesAlone) {
  expect_layouts_to_move_bytes_alone(device_,
                                     {{1, 16}, {0, 64}, {130, 80}, {9, 17}, {128, 64}, {5, 0}});
}

// Three rows 2^31 elements apart: offsets that 32 bits do not hold. Memory is there where touched.
class FarRows {
 public:
  static constexpr std::int64_t kRows = 3, kCols = 80, kStride = (std::int64_t{1} << 31) + 16;

  FarRows()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~FarRows() {
    if (mapped()) munmap(memory_, kBytes);
  }
  FarRows(const FarRows&) = delete;

  bool mapped() const { return memory_ != MAP_FAILED; }
  std::uint16_t* row(std::int64_t number) const {
    return static_cast<std::uint16_t*>(memory_) + number * kStride;
  }
  Tensor view() const { return {memory_, DType::bf16, Shape{kRows, kCols}, kStride, nullptr}; }

 private:
  static constexpr std::size_t kBytes = ((kRows - 1) * kStride + kCols) * 2;
  void* memory_;
};

TEST_F(Nvfp4OnHost, RowsBeyond2To31ElementsAreFound) {
  const FarRows far, back;
  if (!far.mapped() || !back.mapped()) GTEST_SKIP() << "8 GB of address space cannot be mapped";
  HostMatrix near_rows = random_matrix(DType::bf16, FarRows::kRows, FarRows::kCols, 7);
  for (std::int64_t row = 0; row < FarRows::kRows; ++row) {
    std::memcpy(
        far.row(row),
        reinterpret_cast<const std::uint16_t*>(near_rows.words.data()) + row * FarRows::kCols,
        FarRows::kCols * 2);
  }
  for (const bool row_scaled : {false, true}) {  // finding a tensor's amax: a kernel of its own
    const Quantized expected = reference_of(near_rows, {}, {}, row_scaled);
    QuantizedTensor out;
    out.shape = far.view().shape;
    out.type.row_scaled = row_scaled;
    out.rowwise = out.rowwise_sizes().value();
    Quantized got{std::vector<std::uint8_t>(out.rowwise.data_bytes),
                  std::vector<std::uint8_t>(out.rowwise.scale_bytes),
                  std::vector<float>(out.rowwise.amax_count)};
    out.rowwise.data = got.codes.data();
    out.rowwise.scale = got.scales.data();
    out.rowwise.amax = got.amax.data();
    QuantizeNvfp4Options options;
    options.device = device_;
    quantize_nvfp4(*test_runtime(), far.view(), out, options, {}).value();
    EXPECT_EQ(got, expected) << "row-scaled " << row_scaled;

    DequantizeNvfp4Options there;
    there.device = device_;
    std::vector<std::uint16_t> dense(FarRows::kRows * FarRows::kCols);
    const Tensor near_back = {dense.data(), DType::bf16, far.view().shape, 0, nullptr};
    dequantize_nvfp4(*test_runtime(), out, near_back, there, {}).value();
    dequantize_nvfp4(*test_runtime(), out, back.view(), there, {}).value();
    for (std::int64_t row = 0; row < FarRows::kRows; ++row) {
      EXPECT_EQ(std::memcmp(back.row(row), dense.data() + row * FarRows::kCols, FarRows::kCols * 2),
                0)
          << "row " << row;
    }
  }
}

}  // namespace
}  // namespace diecast::testing
