// The quick judgement of plain matrices never passes what the whole check refuses: a shape of three
// dimensions always takes the whole check, so both are asked the same question.
#include <diecast/base/text.h>
#include <diecast/ops/quantized_tensor.h>
#include <gtest/gtest.h>

#include <random>

namespace diecast {
namespace {

std::string outcome(const Result<void>& checked) {
  return checked ? "ok" : std::string(code_word(checked.error().code));
}

class RandomTensors {
 public:
  QuantizedTensor quantized() {
    QuantizedTensor tensor;
    tensor.type.format = static_cast<Format>(pick(4));
    tensor.shape = {size(), size()};
    tensor.type.square = pick(4) == 0;
    tensor.type.layout = static_cast<ScaleLayout>(pick(3));
    tensor.type.profile = static_cast<Profile>(pick(8));
    tensor.type.e4m3_bound = pick(4) == 0 ? 256 : pick(20) == 0 ? 300 : 448;
    tensor.type.row_scaled = pick(4) == 0;
    if (pick(5) != 0) fill(tensor.rowwise, tensor.rowwise_sizes());
    if (pick(3) == 0) fill(tensor.columnwise, tensor.columnwise_sizes());
    return tensor;
  }
  Tensor tensor() {
    Tensor tensor{address(), static_cast<DType>(pick(10)), Shape{size(), size()}, 0, nullptr};
    if (pick(3) == 0) tensor.row_stride = tensor.cols() + static_cast<std::int64_t>(pick(4)) - 1;
    return tensor;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::int64_t size() {
    static constexpr std::int64_t kSizes[] = {1,    7,     16,      33,        128,       130,
                                              4096, 65537, 1 << 29, 1LL << 40, 1LL << 61, -1};
    return pick(16) == 0 ? 0 : kSizes[pick(pick(4) == 0 ? 12 : 8)];
  }
  void* address() {
    return pick(12) == 0 ? nullptr : reinterpret_cast<void*>(0x1000 + pick(8) * (pick(4) == 0));
  }
  void fill(QuantizedSide& side, const Result<QuantizedSide>& sizes) {
    if (sizes) side = *sizes;
    side.data = address();
    side.scale = address();
    side.amax = static_cast<float*>(address());
    for (std::int64_t* bytes : {&side.data_bytes, &side.scale_bytes, &side.amax_count})
      if (pick(8) == 0) *bytes += static_cast<std::int64_t>(pick(3)) - 1;
    if (pick(8) == 0) side.scale_stride = size();
  }
  std::mt19937_64 random_{20261122};
};

// The same matrix with a leading dimension of 1.
Shape of_three(const Shape& shape) { return {1, shape.dims[0], shape.dims[1]}; }

TEST(PlainTensor, IsJudgedAsTheWholeCheckJudges) {
  RandomTensors random;
  int right = 0, wrong = 0;
  for (int i = 0; i < 50000; ++i) {
    const Tensor plain = random.tensor();
    Tensor whole = plain;
    whole.shape = of_three(plain.shape);
    const std::string expected = outcome(whole.check("x"));
    ASSERT_EQ(outcome(plain.check("x")), expected)
        << plain.shape.text() << " stride " << plain.row_stride << " at " << plain.data;
    ++(expected == "ok" ? right : wrong);
  }
  EXPECT_GT(right, 10000);
  EXPECT_GT(wrong, 10000);
}

TEST(PlainQuantizedTensor, IsJudgedAsTheWholeCheckJudges) {
  RandomTensors random;
  int right = 0, wrong = 0;
  for (int i = 0; i < 50000; ++i) {
    const QuantizedTensor plain = random.quantized();
    QuantizedTensor whole = plain;
    whole.shape = of_three(plain.shape);
    const std::string expected = outcome(whole.check("op", "x"));
    ASSERT_EQ(outcome(plain.check("op", "x")), expected)
        << plain.shape.text() << ' ' << plain.type.text();
    ++(expected == "ok" ? right : wrong);
  }
  EXPECT_GT(right, 5000);
  EXPECT_GT(wrong, 10000);
}

}  // namespace
}  // namespace diecast
