// What a launch of a prepared op refuses is told as its caller knows it: by the op's name, and with
// the field of the request under which it would be taken.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class PreparedErrors : public ::testing::Test {
 protected:
  template <class Prepared, class... Arguments>
  std::string refused(const typename Prepared::Request& request, const Arguments&... arguments) {
    const auto op = Prepared::prepare(*runtime_, device_, request);
    if (!op) return op.error().message();
    const auto ran = op->run(arguments...);
    return ran ? "" : ran.error().message();
  }
  // The matrix's rows begin so many bytes later, or lie so far apart.
  Tensor moved(std::int64_t bytes, std::int64_t row_stride = 0) const {
    Tensor x = matrices_.x;
    x.data = static_cast<char*>(x.data) + bytes;
    x.row_stride = row_stride;
    return x;
  }

  testing::FakeMachine machine_;
  const std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
  const testing::Matrices matrices_{*device_, 32, 2048};
  const QuantizedTensor& out_ = matrices_.out;
};

TEST_F(PreparedErrors, OfAMisalignedMatrixNameTheRows) {
  for (const bool amax_given : {false, true})
    EXPECT_EQ(refused<PreparedQuantizeNvfp4>({.amax_given = amax_given}, moved(2), out_, Stream{}),
              "diecast: misaligned: quantize_nvfp4: `x` starts 2 bytes past a multiple of 16\n"
              "  fix: start it at a multiple of 16 bytes, or prepare with Request.rows = "
              "RowsClass::any");
  EXPECT_EQ(refused<PreparedAmax>({}, moved(2), out_.rowwise.amax, false, Stream{}),
            "diecast: misaligned: amax: `x` starts 2 bytes past a multiple of 16\n"
            "  fix: start it at a multiple of 16 bytes, or prepare with Request.rows = "
            "RowsClass::any");
  EXPECT_EQ(refused<PreparedDequantizeNvfp4>({}, out_, moved(2), Stream{}),
            "diecast: misaligned: dequantize_nvfp4: `out` starts 2 bytes past a multiple of 16\n"
            "  fix: start it at a multiple of 16 bytes, or prepare with Request.rows = "
            "RowsClass::any");
  PreparedStaticFp4FakeQuant::Request rounding;
  rounding.scale = Fp4Scale::one;
  EXPECT_EQ(refused<PreparedStaticFp4FakeQuant>(rounding, moved(2), Tensor(), nullptr, moved(0),
                                                Stream{}),
            "diecast: misaligned: static_blockwise_fp4_fake_quant: `x` starts 2 bytes past a "
            "multiple of 16\n"
            "  fix: start it at a multiple of 16 bytes, or prepare with Request.aligned = false");
  EXPECT_EQ(refused<PreparedFp4FakeQuantBlock>({}, moved(0), out_.rowwise.amax, moved(2), Stream{}),
            "diecast: misaligned: fp4_fake_quant_block: `out` starts 2 bytes past a multiple of "
            "16\n"
            "  fix: start it at a multiple of 16 bytes, or prepare with Request.rows = "
            "RowsClass::any");
}

TEST_F(PreparedErrors, OfRowsApartNameTheirClass) {
  const testing::Matrices wide(*device_, 32, 4096);
  Tensor x = wide.x;
  x.shape = Shape{32, 2048}, x.row_stride = 4096;
  EXPECT_EQ(refused<PreparedAmax>({}, x, out_.rowwise.amax, false, Stream{}),
            "diecast: shape_mismatch: amax: `x` has rows 4096 elements apart; the kernel takes "
            "dense rows of 2048\n"
            "  fix: copy x to dense rows, or prepare with Request.rows = RowsClass::apart");
}

TEST_F(PreparedErrors, OfARowLengthNameTheRowsOrTheLength) {
  const testing::Matrices other(*device_, 32, 2056);
  EXPECT_EQ(refused<PreparedQuantizeNvfp4>({.amax_given = true}, other.x, other.out, Stream{}),
            "diecast: shape_mismatch: quantize_nvfp4: `cols` is 2056, no multiple of 16, which the "
            "kernel was made for\n"
            "  fix: give a multiple of 16, or prepare with Request.rows = RowsClass::any");
  EXPECT_EQ(
      refused<PreparedQuantizeNvfp4>({.amax_given = true, .cols = 2048}, other.x, other.out,
                                     Stream{}),
      "diecast: shape_mismatch: quantize_nvfp4: x has rows of 2056, prepared for rows of 2048\n"
      "  fix: give rows of 2048, or prepare with Request.cols = 0 and rows = RowsClass::any");
  const testing::Matrices half(*device_, 32, 1024);
  EXPECT_EQ(
      refused<PreparedQuantizeNvfp4>({.amax_given = true, .cols = 2048}, half.x, half.out,
                                     Stream{}),
      "diecast: shape_mismatch: quantize_nvfp4: x has rows of 1024, prepared for rows of 2048\n"
      "  fix: give rows of 2048, or prepare with Request.cols = 0");
  QuantizedTensor mx{.type = {.format = Format::mxfp8_e4m3}, .shape = other.x.shape};
  mx.rowwise = mx.rowwise_sizes().value();
  mx.rowwise.data = other.out.rowwise.data, mx.rowwise.scale = other.out.rowwise.scale;
  EXPECT_EQ(refused<PreparedQuantizeMx>({}, other.x, mx, Stream{}),
            "diecast: shape_mismatch: quantize_mx: `cols` is 2056, no multiple of 16, which the "
            "kernel was made for\n"
            "  fix: give a multiple of 16, or prepare with Request.rows = RowsClass::any");
}

TEST_F(PreparedErrors, OfAnotherTypeOrArgumentNameNoRows) {
  Tensor x = matrices_.x;
  x.dtype = DType::f16;
  EXPECT_EQ(refused<PreparedAmax>({}, x, out_.rowwise.amax, false, Stream{}),
            "diecast: dtype_mismatch: amax: `x` is f16; the kernel takes bf16\n"
            "  fix: pass x as bf16, or prepare another op for it");
  QuantizedTensor out = out_;
  out.rowwise.data = static_cast<char*>(out.rowwise.data) + 4;
  EXPECT_EQ(refused<PreparedQuantizeNvfp4>({.amax_given = true}, matrices_.x, out, Stream{}),
            "diecast: misaligned: quantize_nvfp4: `codes` starts 4 bytes past a multiple of 8\n"
            "  fix: start it at a multiple of 8 bytes");
}

}  // namespace
}  // namespace diecast
