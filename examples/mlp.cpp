// The MLP of a transformer's layer with NVFP4 weights, without its norm: gate and up in one product
// with SiLU, then down with the residual. `mlp [TOKENS HIDDEN INNER]` packs drawn weights, times
// the two launches, and holds the result against a plain loop and each token against itself alone.
#include <diecast/diecast.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

using namespace diecast;

namespace {

using Words = std::vector<std::uint16_t>;  // of bf16

Words drawn(std::int64_t count, double scale, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Words out(static_cast<std::size_t>(count));
  for (auto& word : out) word = reference::encode_bf16(static_cast<float>(normal(random)));
  return out;
}

float at(const Words& words, std::int64_t i) {
  return reference::decode_bf16(words[static_cast<std::size_t>(i)]);
}

// What runs the layer.
struct Machine {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;

  template <class T>
  DeviceMemory copy_of(const std::vector<T>& values) const {
    DeviceMemory memory = DeviceMemory::copy_of(device, values, {}).value();
    device->synchronize({}).value();
    return memory;
  }
  template <class T>
  std::vector<T> fetch(const void* from, std::size_t count) const {
    std::vector<T> out(count);
    device->copy_to_host(out.data(), from, count * sizeof(T), {}).value();
    device->synchronize({}).value();
    return out;
  }
};

// A weight [rows, cols]: quantized as a checkpoint has it, and packed as a product wants it.
struct Weight {
  Weight(const Machine& on, std::int64_t rows, std::int64_t cols, Gated gated, unsigned seed)
      : shape{rows, cols} {
    const double scale = 1 / std::sqrt(static_cast<double>(cols));
    const DeviceMemory values = on.copy_of(drawn(rows * cols, scale, seed));
    const auto quantized = QuantizedBuffer::allocate(on.device, shape).value();
    quantize_nvfp4(*on.runtime, Tensor{values.data(), DType::bf16, shape}, quantized.tensor(),
                   {.device = on.device})
        .value();
    const QuantizedSide& side = quantized.tensor().rowwise;
    codes = on.fetch<std::uint8_t>(side.data, static_cast<std::size_t>(rows * cols / 2));
    scales = on.fetch<std::uint8_t>(side.scale, static_cast<std::size_t>(rows * cols / 16));
    factor = on.fetch<float>(side.amax, 1)[0] / (6 * 448);
    global = on.copy_of(std::vector<float>{factor});
    packed = {.gated = gated, .shape = shape};
    packed.bytes = PackedLinear::bytes_for(packed.format, shape).value();
    bytes = DeviceMemory::allocate(on.device, static_cast<std::size_t>(packed.bytes)).value();
    packed.data = bytes.data();
    pack_linear(*on.runtime, {.shape = shape, .codes = side.data, .scales = side.scale}, packed,
                {.device = on.device})
        .value();
    on.device->synchronize({}).value();  // the checkpoint's bytes are no longer needed
  }
  double at(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = row * shape.cols() + col;
    const unsigned pair = codes[static_cast<std::size_t>(i / 2)];
    const auto code = static_cast<std::uint8_t>(i % 2 == 0 ? pair % 16 : pair / 16);
    return double{reference::decode_e2m1(code)} *
           double{reference::decode_e4m3(scales[static_cast<std::size_t>(i / 16)])} * factor;
  }
  const float* scale() const { return static_cast<const float*>(global.data()); }

  Shape shape;
  std::vector<std::uint8_t> codes, scales;  // on this processor, for the plain loop
  float factor = 1;
  DeviceMemory global, bytes;
  PackedLinear packed;
};

// Prepared for any number of tokens.
class Mlp {
 public:
  Mlp(const Machine& on, std::int64_t hidden, std::int64_t inner)
      : up_(on, 2 * inner, hidden, Gated::halves, 1), down_(on, hidden, inner, Gated::none, 2) {
    const Tensor x{nullptr, DType::bf16, Shape{1, hidden}}, middle = x;
    LinearOptions added;
    added.residual = x;
    const auto first = LinearRequest::of(x, up_.packed, middle, gated_);
    const auto second = LinearRequest::of(middle, down_.packed, x, added);
    gate_up_ = PreparedLinear::prepare(*on.runtime, on.device, first).value();
    to_out_ = PreparedLinear::prepare(*on.runtime, on.device, second).value();
  }
  // x, out: [tokens, hidden], middle: [tokens, inner], all bf16. Two launches.
  void run(const Tensor& x, const Tensor& middle, const Tensor& out) const {
    LinearOptions added{.settled = true};
    added.residual = x;
    gate_up_.run(x, up_.packed, up_.scale(), middle, gated_, {}).value();
    to_out_.run(middle, down_.packed, down_.scale(), out, added, {}).value();
  }
  // The first token's out in double, element by element, with the middle rounded to bf16.
  std::vector<double> plain(const Words& x) const {
    const std::int64_t hidden = up_.shape.cols(), inner = down_.shape.cols();
    const auto dot = [](const Weight& weight, std::int64_t row, const Words& with) {
      double sum = 0;
      for (std::int64_t k = 0; k < weight.shape.cols(); ++k) sum += weight.at(row, k) * at(with, k);
      return sum;
    };
    Words middle;
    for (std::int64_t n = 0; n < inner; ++n) {
      const double gate = dot(up_, n, x), up = dot(up_, n + inner, x);
      middle.push_back(
          reference::encode_bf16(static_cast<float>(gate / (1 + std::exp(-gate)) * up)));
    }
    std::vector<double> out;
    for (std::int64_t n = 0; n < hidden; ++n) out.push_back(dot(down_, n, middle) + at(x, n));
    return out;
  }

 private:
  // Settled: weights were packed before, and no launch writes them.
  const LinearOptions gated_{.activation = Activation::silu_and_mul, .settled = true};
  const Weight up_, down_;
  PreparedLinear gate_up_, to_out_;
};

// A number that every bit changes (FNV-1a).
std::uint64_t checksum(const Words& words) {
  std::uint64_t sum = 0xCBF29CE484222325;
  for (const std::uint16_t word : words) sum = (sum ^ word) * 0x100000001B3;
  return sum;
}

// Whether each is within a bf16's rounding of the plain loop's, and of a middle rounded elsewhere.
bool near(const Words& got, const std::vector<double>& plain) {
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double error = std::fabs(at(got, static_cast<std::int64_t>(i)) - plain[i]);
    if (!(error <= 0x1p-7 * (1 + std::fabs(plain[i])))) return false;
  }
  return true;
}

double microseconds(const Machine& on, const std::function<void()>& work) {
  constexpr int kRuns = 20;
  work();
  on.device->synchronize({}).value();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) work();
  on.device->synchronize({}).value();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / kRuns;
}

int run(const Machine& on, std::int64_t tokens, std::int64_t hidden, std::int64_t inner) {
  const Mlp mlp(on, hidden, inner);
  on.runtime->freeze();  // from here on nothing is compiled or loaded
  const Words values = drawn(tokens * hidden, 1, 3);
  const auto bytes = [](std::int64_t words) { return static_cast<std::size_t>(2 * words); };
  const DeviceMemory x = on.copy_of(values);
  const auto middle = DeviceMemory::allocate(on.device, bytes(tokens * inner)).value();
  const auto out = DeviceMemory::allocate(on.device, bytes(tokens * hidden)).value();
  const auto view = [](const DeviceMemory& of, std::int64_t first, std::int64_t rows,
                       std::int64_t cols) {
    return Tensor{static_cast<char*>(of.data()) + 2 * first * cols, DType::bf16, Shape{rows, cols}};
  };
  const auto some = [&](std::int64_t first, std::int64_t count) {
    mlp.run(view(x, first, count, hidden), view(middle, first, count, inner),
            view(out, first, count, hidden));
  };
  const double us = microseconds(on, [&] { some(0, tokens); });
  const Words together = on.fetch<std::uint16_t>(out.data(), values.size());
  for (std::int64_t token = 0; token < tokens; ++token) some(token, 1);
  const bool same = on.fetch<std::uint16_t>(out.data(), values.size()) == together;
  const bool right = near(together, mlp.plain(values));
  std::printf("%lld tokens of %lld, %lld inside: %.1f us, bits %016llx\n",
              static_cast<long long>(tokens), static_cast<long long>(hidden),
              static_cast<long long>(inner), us,
              static_cast<unsigned long long>(checksum(together)));
  std::printf("each token alone: %s bits; the plain loop: %s\n", same ? "the same" : "OTHER",
              right ? "near" : "FAR");
  return same && right ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  Machine on{Runtime::create().value(), nullptr};
  if (auto gpu = on.runtime->default_device()) on.device = *gpu;
  const bool host = on.device == nullptr;
  if (host) on.device = open_host_device().value();
  std::printf("on %s\n", on.device->properties().name.c_str());
  const auto number = [&](int i, std::int64_t on_host, std::int64_t on_gpu) {
    return count > i ? std::atoll(words[i]) : host ? on_host : on_gpu;
  };
  return run(on, number(1, 5, 64), number(2, 128, 4096), number(3, 192, 14336));
}
