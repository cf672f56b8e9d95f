// How near each format comes to what it holds: signal to noise in decibels of NVFP4 with its
// options, MXFP4 and MXFP8, on drawn matrices and on a checkpoint's weights. `quality FILE.svg
// [CHECKPOINT]` writes a picture and prints a table; it needs no GPU. Numbers are the scalar
// reference's, whose bits the kernels have.
#include <diecast/checkpoint/safetensors.h>
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/svg.h"

using namespace diecast;

namespace {

constexpr std::int64_t kRows = 512, kCols = 1024;
constexpr unsigned kSigns = 0xD7E8;

// A bf16 matrix of whole blocks of 32.
struct Matrix {
  std::int64_t rows, cols;
  std::vector<std::uint16_t> words;

  Tensor view() { return {words.data(), DType::bf16, Shape{rows, cols}}; }
  double at(std::int64_t i) const {
    return static_cast<double>(reference::load(words.data(), DType::bf16, i));
  }
};

Matrix drawn(const std::function<float(std::int64_t col)>& draw) {
  Matrix m{kRows, kCols, std::vector<std::uint16_t>(kRows * kCols)};
  for (std::int64_t i = 0; i < kRows * kCols; ++i) {
    reference::store(m.words.data(), DType::bf16, i, draw(i % kCols));
  }
  return m;
}

double decibels(double signal, double noise) { return 10.0 * std::log10(signal / noise); }

double nvfp4(Matrix& m, const reference::Nvfp4Options& options) {
  const auto amax = reference::amax(m.view(), options).value();
  const auto q = reference::quantize_nvfp4(m.view(), options, amax).value();
  const bool adaptive = options.four_over_six != FourOverSix::off;
  double signal = 0, noise = 0;
  for (std::int64_t block = 0; block < m.rows * m.cols / 16; ++block) {
    const float of = amax[options.row_scaled ? static_cast<std::size_t>(block * 16 / m.cols) : 0];
    const float s = adaptive ? reference::four_over_six_encode_scale(of, options.bound)
                             : reference::te_encode_scale(of);
    const double step =
        static_cast<double>(reference::decode_e4m3(q.scales[static_cast<std::size_t>(block)])) /
        static_cast<double>(s);
    reference::Sixteen x;
    for (std::size_t i = 0; i < 16; ++i) {
      x[i] = static_cast<float>(m.at(block * 16 + static_cast<std::int64_t>(i)));
    }
    if (options.rht) x = reference::hadamard(x, options.sign_mask);  // keeps signal and noise
    for (std::size_t i = 0; i < 16; ++i) {
      const unsigned pair = q.codes[static_cast<std::size_t>(block) * 8 + i / 2];
      const auto code = static_cast<std::uint8_t>(i % 2 == 0 ? pair % 16 : pair / 16);
      const double value = static_cast<double>(x[i]);
      const double lost = static_cast<double>(reference::decode_e2m1(code)) * step - value;
      signal += value * value;
      noise += lost * lost;
    }
  }
  return decibels(signal, noise);
}

double mx(Matrix& m, Format format) {
  const reference::MxFormula formula{format, reference::MxMode::rceil, false};
  const auto side = reference::quantize_mx(m.view(), formula, false, false).value();
  double signal = 0, noise = 0;
  for (std::int64_t i = 0; i < m.rows * m.cols; ++i) {
    const double value = m.at(i);
    const double lost = static_cast<double>(reference::mx_element(side, format, false, m.rows,
                                                                  m.cols, i / m.cols, i % m.cols)) -
                        value;
    signal += value * value;
    noise += lost * lost;
  }
  return decibels(signal, noise);
}

struct Method {
  const char* name;
  std::function<double(Matrix&)> quality;
};

std::vector<Method> methods() {
  const auto with = [](auto change) {
    reference::Nvfp4Options options;
    change(options);
    return [options](Matrix& m) { return nvfp4(m, options); };
  };
  const auto four_over_six = [&](FourOverSix rule) {
    return with([rule](auto& o) { o.four_over_six = rule, o.bound = 256; });
  };
  return {{"NVFP4", with([](auto&) {})},
          {"row-scaled", with([](auto& o) { o.row_scaled = true; })},
          {"4over6, MAE", four_over_six(FourOverSix::mae)},
          {"4over6, MSE", four_over_six(FourOverSix::mse)},
          {"RHT", with([](auto& o) { o.rht = true, o.sign_mask = kSigns; })},
          {"stochastic", with([](auto& o) {
             o.random = reference::RandomState{1234, 0};
           })},
          {"MXFP4", [](Matrix& m) { return mx(m, Format::mxfp4); }},
          {"MXFP8 E4M3", [](Matrix& m) { return mx(m, Format::mxfp8_e4m3); }}};
}

// One column of the table: a name, and decibels method by method.
struct Column {
  std::string name;
  std::vector<double> quality;
};

Column measured(std::string name, Matrix m) {
  Column out{std::move(name), {}};
  for (const Method& method : methods()) out.quality.push_back(method.quality(m));
  return out;
}

std::vector<Column> drawn_columns() {
  std::mt19937_64 random(2026);
  std::normal_distribution<float> normal;
  std::student_t_distribution<float> heavy(3.0f);
  return {measured("normal", drawn([&](std::int64_t) { return normal(random); })),
          measured("heavy-tailed", drawn([&](std::int64_t) { return heavy(random); })),
          measured("outlier columns", drawn([&](std::int64_t col) {
                     return normal(random) * (col % 128 == 5 ? 30.0f : 1.0f);
                   }))};
}

// At most kRows rows of a weight, in bf16; none of what is no matrix of whole blocks.
Matrix weight_of(const SafetensorsReader& file, const TensorInfo& info) {
  const bool wide = info.dtype == StoredDType::f32;
  const bool known = wide || info.dtype == StoredDType::bf16 || info.dtype == StoredDType::f16;
  if (!known || info.shape.size() < 2 || info.shape.back() == 0 || info.shape.back() % 32 != 0) {
    return {0, 0, {}};
  }
  const auto cols = static_cast<std::int64_t>(info.shape.back());
  const auto rows =
      std::min<std::int64_t>(kRows, static_cast<std::int64_t>(info.elements()) / cols);
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows * cols) * (wide ? 4 : 2));
  file.read(info, 0, bytes).value();
  const DType dtype = wide                              ? DType::f32
                      : info.dtype == StoredDType::bf16 ? DType::bf16
                                                        : DType::f16;
  Matrix m{rows, cols, std::vector<std::uint16_t>(static_cast<std::size_t>(rows * cols))};
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    reference::store(m.words.data(), DType::bf16, i, reference::load(bytes.data(), dtype, i));
  }
  return m;
}

// The mean over the weights, each in decibels.
Result<Column> checkpoint_column(const std::string& path) {
  DIECAST_TRY(const auto file, SafetensorsReader::open(path));
  Column mean{"checkpoint", std::vector<double>(methods().size())};
  int weights = 0;
  for (const TensorInfo& info : file.header().tensors) {
    Matrix m = weight_of(file, info);
    if (m.rows == 0) continue;
    const Column one = measured(info.name, std::move(m));
    for (std::size_t i = 0; i < mean.quality.size(); ++i) mean.quality[i] += one.quality[i];
    ++weights;
  }
  if (weights == 0) {
    return Error{ErrorCode::invalid_argument, path + " has no weight of whole blocks of 32",
                 "pass a checkpoint with matrices of bf16, f16 or f32"};
  }
  for (double& quality : mean.quality) quality /= weights;
  mean.name += ", mean of " + std::to_string(weights) + " weights";
  return mean;
}

void print_table(const std::vector<Column>& columns) {
  std::string head = "| dB |", rule = "|---|";
  for (const Column& column : columns) head += " " + column.name + " |", rule += "---|";
  std::printf("%s\n%s\n", head.c_str(), rule.c_str());
  const auto all = methods();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf("| %s |", all[i].name);
    for (const Column& column : columns) std::printf(" %.2f |", column.quality[i]);
    std::printf("\n");
  }
}

// Bars side by side for each column, as long as their decibels.
bool write_picture(const std::string& path, const std::vector<Column>& columns) {
  constexpr const char* kColours[] = {"#1b6ca8", "#4f9bd0", "#2a9d5c", "#7cc79b",
                                      "#8e5ea2", "#c9a227", "#c75146", "#6b6b6b"};
  const auto all = methods();
  constexpr double kBar = 22, kLeft = 20;
  const double group = kBar * static_cast<double>(all.size() + 2);
  const double width = kLeft + group * static_cast<double>(columns.size());
  tool::Svg svg(static_cast<int>(width) + 140, 300);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double left = kLeft + static_cast<double>(c) * group;
    svg.words({left, 290}, columns[c].name);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double height = std::max(0.0, columns[c].quality[i]) * 6.0;
      svg.rectangle({left + static_cast<double>(i) * kBar, 270.0 - height}, {kBar - 4, height},
                    kColours[i], cat(all[i].name, ": ", columns[c].quality[i], " dB"));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double y = 40 + static_cast<double>(i) * 20;
    svg.rectangle({width, y - 10}, {12, 12}, kColours[i]);
    svg.words({width + 18, y}, all[i].name);
  }
  svg.words({kLeft, 20}, "signal to noise, dB");
  std::ofstream out(path);
  out << svg.text();
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: quality FILE.svg [CHECKPOINT.safetensors]\n");
    return 2;
  }
  std::vector<Column> columns = drawn_columns();
  if (argc == 3) {
    auto checkpoint = checkpoint_column(argv[2]);
    if (!checkpoint) {
      std::fprintf(stderr, "%s\n", checkpoint.error().message().c_str());
      return 1;
    }
    columns.push_back(*std::move(checkpoint));
  }
  print_table(columns);
  if (write_picture(argv[1], columns)) return 0;
  std::fprintf(stderr, "%s cannot be written\n", argv[1]);
  return 1;
}
