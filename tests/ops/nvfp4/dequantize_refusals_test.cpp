// What dequantizing refuses of parts and blocks, and sizes that it does not: on a fake GPU.
#include <limits>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

class DequantizeRefusals : public testing::OnFakeGpu {
 protected:
  using Op = PreparedDequantizeNvfp4;

  Tensor part(DType dtype, std::int64_t rows, std::int64_t cols) {
    return {memory(rows * cols * dtype_bits(dtype) / 8), dtype, Shape{rows, cols}, 0, nullptr};
  }
  std::string outcome(const Result<void>& done) {
    EXPECT_EQ(done.ok(), machine_.cuda->launches.size() == 1);
    machine_.cuda->launches.clear();
    return done ? "done" : done.error().message();
  }
  // Of out [200, 1024].
  std::string parts(const Op::Request& request, const Tensor& packed, const Tensor& scale) {
    const Op op = Op::prepare(*runtime_, device_, request).value();
    const auto* factor = static_cast<const float*>(memory(1024 * 4));
    return outcome(op.run(packed, scale, factor, part(request.out, 200, 1024), {}));
  }
};

TEST_F(DequantizeRefusals, PartsOfAnotherShapeThanTheRequestReads) {
  const Tensor packed = part(DType::u8, 200, 512);
  const auto wrong = [](const char* name, const char* is, const char* rows, const char* cols) {
    return std::string("diecast: shape_mismatch: fp4_dequantize: ") + name + " is " + is +
           ", not [" + rows + ", " + cols + "]\n  fix: pass " + name + " with " + rows +
           " rows of " + cols;
  };
  Op::Request request;
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 200, 64)), "done");
  EXPECT_EQ(parts(request, part(DType::u8, 1, 8), part(DType::e4m3, 1, 1)),
            wrong("packed", "[1, 8]", "200", "512"));
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 200, 63)),
            wrong("scale", "[200, 63]", "200", "64"));
  request.block = 32;
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 200, 32)), "done");
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 200, 64)),
            wrong("scale", "[200, 64]", "200", "32"));
  request.layout = ScaleLayout::s128x4;
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 256, 32)), "done");
  EXPECT_EQ(parts(request, packed, part(DType::e4m3, 200, 32)),
            wrong("scale", "[200, 32]", "256", "32"));
}

TEST_F(DequantizeRefusals, PartsOfColumnsAreThoseOfTheTranspose) {
  Op::Request request;
  request.columnwise = true;
  request.block = 32;  // counts for nothing
  EXPECT_EQ(parts(request, part(DType::u8, 1024, 104), part(DType::e4m3, 1024, 13)), "done");
  EXPECT_EQ(parts(request, part(DType::u8, 200, 512), part(DType::e4m3, 200, 64)),
            "diecast: shape_mismatch: fp4_dequantize: packed is [200, 512], not [1024, 104]\n"
            "  fix: pass packed with 1024 rows of 104");
}

TEST_F(DequantizeRefusals, AQuantizedTensorInOtherBlocksThanPreparedFor) {
  QuantizedTensor x;
  x.shape = Shape{8, 64};
  x.rowwise = x.rowwise_sizes().value();
  x.columnwise = x.columnwise_sizes().value();
  allocate(x.rowwise), allocate(x.columnwise);
  const Tensor out = part(DType::bf16, 8, 64);
  Op::Request request;
  request.block = 32;
  const auto run = [&] {
    return outcome(Op::prepare(*runtime_, device_, request).value().run(x, out, {}));
  };
  EXPECT_EQ(run(),
            "diecast: not_supported: dequantize_nvfp4: prepared for block = 32; x has block = "
            "16\n  fix: prepare another op for this input");
  request.columnwise = true;
  EXPECT_EQ(run(), "done");
}

// Half of them is rounded up without an overflow, and no text has a negative number.
TEST_F(DequantizeRefusals, RowsOfAllColumnsThatThereAreHaveParts) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto* factor = static_cast<const float*>(memory(4));
  const auto run = [&](std::int64_t bytes, std::int64_t blocks) {
    const Tensor packed{nullptr, DType::u8, Shape{0, bytes}, 0, nullptr};
    const Tensor scale{nullptr, DType::e4m3, Shape{0, blocks}, 0, nullptr};
    const Tensor out{nullptr, DType::bf16, Shape{0, kMost}, 0, nullptr};
    const auto done = fp4_dequantize(*runtime_, packed, scale, factor, out, {16, 128, device_});
    return done ? "done" : done.error().message();
  };
  EXPECT_EQ(run(kMost / 2 + 1, kMost / 16 + 1), "done");
  EXPECT_EQ(run(1, 1),
            "diecast: shape_mismatch: fp4_dequantize: packed is [0, 1], not [0, "
            "4611686018427387904]\n  fix: pass packed with 0 rows of 4611686018427387904");
}

}  // namespace
}  // namespace diecast
