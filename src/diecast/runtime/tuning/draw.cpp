// Drawing elements; see draw.h.
#include <diecast/runtime/tuning/draw.h>
#include <diecast/runtime/tuning/elements.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace diecast {
namespace {

constexpr std::uint64_t kKinds = 3;

// The bits of one element: a float, or any byte. Most data are between 2^-9 and 1/4 and some as far
// as 2^-20 (f16: 2^-14) and 16, so that sums in another order are other sums. What is no data is
// above all data, as an amax is: a kernel's way for elements beyond it is not the one to be timed.
std::uint64_t moderate_bits(DType type, bool data, std::uint64_t random) {
  const std::uint64_t sign = data ? random >> 63 : 0, power = (random >> 32) % 7;
  const bool far = (random >> 40) % 4 == 0;
  const std::uint64_t wide = !data ? 24 : far ? (random >> 44) % 24 : 11 + power;  // from 2^-20 on
  switch (type) {
    case DType::bf16:
      return sign << 15 | (107 + wide) << 7 | (random & 127);
    case DType::f16:
      return sign << 15 | (std::max<std::uint64_t>(wide, 6) - 5) << 10 | (random & 1023);
    case DType::f32:
      return sign << 31 | (107 + wide) << 23 | (random & 0x7fffff);
    case DType::f64:
      return sign << 63 | (1003 + wide) << 52 | (random & 0xfffffffffffff);
    case DType::e4m3:
      return (4 + power) << 3 | (random & 7);
    case DType::e5m2:
      return (12 + power) << 2 | (random & 3);
    case DType::e8m0:
      return 124 + power;
    default:
      return random & 255;
  }
}

bool has_kinds(DType type) {
  return type == DType::bf16 || type == DType::f16 || type == DType::f32 || type == DType::f64;
}

// A float's bits, cut to what its type holds; the value is 0 or normal in it.
std::uint64_t bits_of(DType type, double value) {
  if (value == 0) return 0;
  const int fraction = *fraction_bits(type), exponent = dtype_bits(type) - 1 - fraction;
  int power = 0;
  const double half = std::frexp(std::fabs(value), &power);
  const int field = power - 1 + (1 << (exponent - 1)) - 1;
  const auto part = static_cast<std::uint64_t>(std::ldexp(2 * half - 1, fraction));
  const std::uint64_t sign = value < 0;
  return sign << (exponent + fraction) | static_cast<std::uint64_t>(field) << fraction | part;
}

// 64 bits that depend on each number given (splitmix64).
std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  std::uint64_t x = state + 0x9e3779b97f4a7c15 * (word + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
double unit(std::uint64_t random) { return std::ldexp(static_cast<double>(random >> 11), -53); }

// One axis of draw 1: eight parts that have the same magnitudes, each in an order of its own. Signs
// are Walsh functions of the part, another for each place: a product of two such is a third.
struct Mirrored {
  std::int64_t magnitude;
  bool negative;
};
std::vector<Mirrored> mirrored(std::int64_t extent, int place) {
  constexpr std::int64_t kParts = 8;
  const std::int64_t length = extent / kParts;
  std::vector<Mirrored> out;
  for (std::int64_t part = 0; part < kParts && length > 0; ++part) {
    std::int64_t factor = 2 * part + 1;
    while (std::gcd(factor, length) != 1) factor += 2;
    for (std::int64_t i = 0; i < length; ++i)
      out.push_back({(i * factor + part) % length, (part >> (place % 3) & 1) != 0});
  }
  for (std::int64_t i = length * kParts; i < extent; ++i) out.push_back({i, false});
  return out;
}

// A line of draw 2: one number is large, a few are small, and the rest is 0. Those that are small
// are 2^k times some places away from the large one, or within 2^k places: whatever lanes or parts
// a kernel sums in, of some lines they share one with it or with each other.
struct Line {
  std::uint64_t seed, length, large, reach;
  bool near;
};
Line line_of(std::uint64_t seed, std::int64_t number, std::int64_t length) {
  const std::uint64_t random = mixed(seed, static_cast<std::uint64_t>(number));
  const auto all = static_cast<std::uint64_t>(length);
  const auto reaches = static_cast<std::uint64_t>(std::bit_width(all));
  return {random, all, random % all, std::uint64_t{1} << (random >> 32) % reaches,
          random >> 63 != 0};
}

// 8.5 squared is at the middle between two of bf16, as 11.75 squared is of f16. A small one's
// square is 1/4 to 1 of half its step as an f32: which of them meet first decides whether they
// count.
double squared(DType type, const Line& line, std::uint64_t at) {
  constexpr double kSmall = 3;  // in a line
  const std::uint64_t random = mixed(line.seed, at);
  const double sign = random >> 63 != 0 ? -1 : 1;
  if (at == line.large) return sign * (type == DType::f16 ? 11.75 : 8.5);
  const std::uint64_t away = at > line.large ? at - line.large : line.large - at;
  const bool in_reach = line.near ? away < line.reach : away % line.reach == 0;
  const auto reached = static_cast<double>(line.near ? 2 * line.reach : line.length / line.reach);
  if (!in_reach || unit(random << 1) * reached > kSmall) return 0;
  const double half_step = type == DType::f16 ? 0x1p-17 : 0x1p-18;
  return sign * std::sqrt(half_step * (0.25 + 0.75 * unit(mixed(random, at))));
}

void put(Bytes& out, std::size_t index, std::size_t width, std::uint64_t bits) {
  for (std::size_t i = 0; i < width; ++i)
    out[index * width + i] = static_cast<std::byte>(bits >> (8 * i));
}

void draw_moderate(const DrawnTensor& tensor, std::uint64_t draw, Bytes& out, std::size_t width) {
  const bool data = tensor.data || (draw > 0 && tensor.largest);
  std::mt19937_64 random(static_cast<std::uint64_t>(tensor.type) + 1 +
                         (draw == 0 ? 0 : mixed(draw, static_cast<std::uint64_t>(tensor.place))));
  for (std::size_t i = 0; i < out.size() / width; ++i)
    put(out, i, width, moderate_bits(tensor.type, data, random()));
}

void draw_cancelling(const DrawnTensor& tensor, std::uint64_t draw, Bytes& out, std::size_t width) {
  const std::vector<Mirrored> rows = mirrored(tensor.rows, tensor.place),
                              cols = mirrored(tensor.cols, tensor.place);
  const std::uint64_t seed = mixed(draw, static_cast<std::uint64_t>(tensor.place));
  std::size_t index = 0;
  for (const Mirrored& row : rows) {
    const std::uint64_t of_row = mixed(seed, static_cast<std::uint64_t>(row.magnitude));
    for (const Mirrored& col : cols) {
      const std::uint64_t random = mixed(of_row, static_cast<std::uint64_t>(col.magnitude));
      const int power = static_cast<int>(random % 18) - 14;
      const double value = std::ldexp(1 + unit(mixed(random, 0)), power);
      put(out, index++, width, bits_of(tensor.type, row.negative != col.negative ? -value : value));
    }
  }
}

// Lines are rows and columns in turns.
void draw_squares(const DrawnTensor& tensor, std::uint64_t draw, Bytes& out, std::size_t width) {
  const bool by_rows = draw / kKinds % 2 == 0 || tensor.rows == 1;
  const std::int64_t count = by_rows ? tensor.rows : tensor.cols;
  const std::int64_t length = by_rows ? tensor.cols : tensor.rows;
  for (std::int64_t number = 0; number < count; ++number) {
    const Line line = line_of(draw, number, length);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t index = by_rows ? number * length + i : i * count + number;
      put(out, static_cast<std::size_t>(index), width,
          bits_of(tensor.type, squared(tensor.type, line, static_cast<std::uint64_t>(i))));
    }
  }
}

}  // namespace

Bytes drawn(const DrawnTensor& tensor, std::uint64_t draw) {
  const auto width = static_cast<std::size_t>(dtype_bits(tensor.type) / 8);
  DrawnTensor held = tensor;  // what is drawn of it
  held.cols = std::min(tensor.cols, static_cast<std::int64_t>(kDrawnBytes / width));
  const std::size_t row_bytes = static_cast<std::size_t>(held.cols) * width;
  if (row_bytes == 0 || tensor.rows == 0) return {};
  held.rows = std::min(tensor.rows, static_cast<std::int64_t>(kDrawnBytes / row_bytes));
  Bytes out(static_cast<std::size_t>(held.rows) * row_bytes);
  const bool data = has_kinds(tensor.type) && (tensor.data || tensor.largest);
  const std::uint64_t kind = data ? draw % kKinds : 0;
  if (kind == 1)
    draw_cancelling(held, draw, out, width);
  else if (kind == 2 && tensor.largest)
    draw_squares(held, draw, out, width);
  else
    draw_moderate(held, draw, out, width);
  return out;
}

std::uint64_t draws_for(std::int64_t elements) {
  constexpr std::int64_t kElements = 1 << 19;  // in all
  return static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(elements, 1), kKinds, 512));
}

}  // namespace diecast
