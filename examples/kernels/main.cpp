// Everyday kernels, each a file beside this one: every variant of each runs here at several sizes,
// on this processor and on the GPU if there is one, and is held against a plain loop in double.
#include <diecast/diecast.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace diecast;

using Sizes = std::map<std::string, std::int64_t>;

// A tensor in device memory, and as the host last saw it.
class Matrix {
 public:
  Matrix(const std::shared_ptr<Device>& device, DType type, std::int64_t rows, std::int64_t cols)
      : device_(device), type_(type), rows_(rows), cols_(cols) {
    bytes_.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows * cols, 1)) * 4);
    memory_ = device->allocate(bytes_.size()).value();
    std::int64_t seed = rows * 1000 + cols;
    for (std::int64_t i = 0; type != DType::u32 && i < rows * cols; ++i) {
      seed = (seed * 1103515245 + 12345) & INT32_MAX;
      reference::store(bytes_.data(), type, i, static_cast<float>(seed >> 10) / 262144.0f - 4.0f);
    }
    device->copy_to_device(memory_, bytes_.data(), bytes_.size(), {}).value();
  }
  ~Matrix() { (void)device_->free(memory_).ok(); }
  Matrix(const Matrix&) = delete;

  void fetch() {
    device_->copy_to_host(bytes_.data(), memory_, bytes_.size(), {}).value();
    device_->synchronize({}).value();
  }
  double at(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = row * cols_ + col;
    if (type_ == DType::u32) return reinterpret_cast<const std::uint32_t*>(bytes_.data())[i];
    return static_cast<double>(reference::load(bytes_.data(), type_, i));
  }
  // A number as the type has it.
  double rounded(double x) const {
    std::uint8_t bytes[4];
    reference::store(bytes, type_, 0, static_cast<float>(x));
    return static_cast<double>(reference::load(bytes, type_, 0));
  }
  KernelArgument argument() const { return KernelArgument::tensor(type_, memory_); }
  DType type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  std::shared_ptr<Device> device_;
  DType type_;
  std::int64_t rows_, cols_;
  std::vector<std::uint8_t> bytes_;
  void* memory_ = nullptr;
};

// The tensors of a launch: those that are read as they were before.
using Tensors = std::map<std::string, Matrix>;
// What is right at a place of the output.
using Plain = double (*)(const Tensors&, const Specialization&, std::int64_t row, std::int64_t col);

static double softmax(const Tensors& of, const Specialization&, std::int64_t row,
                      std::int64_t col) {
  const Matrix& x = of.at("x");
  double sum = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i) sum += std::exp(x.at(row, i) - x.at(row, col));
  return 1 / sum;
}

static double rms_norm(const Tensors& of, const Specialization& variant, std::int64_t row,
                       std::int64_t col) {
  const Matrix& x = of.at("x");
  const bool adds = variant.number("HAS_RESIDUAL") != 0;
  const auto value = [&](std::int64_t i) {
    return adds ? x.rounded(x.at(row, i) + of.at("residual").at(row, i)) : x.at(row, i);
  };
  double squares = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i) squares += value(i) * value(i);
  const double root = std::sqrt(squares / static_cast<double>(x.cols()) + 1e-5);
  return value(col) / root * (variant.number("HAS_WEIGHT") != 0 ? of.at("weight").at(0, col) : 1);
}

static double silu_and_mul(const Tensors& of, const Specialization& variant, std::int64_t row,
                           std::int64_t col) {
  const Matrix& x = of.at("x");
  double gate = x.at(row, col), up = x.at(row, x.cols() / 2 + col);
  if (variant.bindings().find("LIMIT")->spelling() == "7") {
    gate = std::min(gate, 7.0);
    up = std::clamp(up, -7.0, 7.0);
  }
  return gate / (1 + std::exp(-gate)) * up;
}

static double scan(const Tensors& of, const Specialization&, std::int64_t row, std::int64_t col) {
  double sum = 0;
  for (std::int64_t i = 0; i <= col; ++i) sum += of.at("x").at(row, i);
  return sum;
}

static double gemv(const Tensors& of, const Specialization& variant, std::int64_t,
                   std::int64_t row) {
  const Matrix& w = of.at("w");
  double sum = variant.number("HAS_BIAS") != 0 ? of.at("bias").at(0, row) : 0;
  for (std::int64_t i = 0; i < w.cols(); ++i) sum += w.at(row, i) * of.at("x").at(0, i);
  return sum;
}

static double histogram(const Tensors& of, const Specialization&, std::int64_t, std::int64_t bin) {
  const Matrix& x = of.at("x");
  double count = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i)
    count += static_cast<std::int64_t>(std::clamp((x.at(0, i) + 4) * 32, 0.0, 255.0)) == bin;
  return count;
}

struct Example {
  const char *name, *output;
  Plain plain;
  std::vector<Sizes> sizes;
  double allowed;    // steps of f32, whose sums have an order of their own; of other types it is 1
  double terms = 0;  // how large what is summed gets: an f32's step is no smaller than theirs
};

static const std::vector<Sizes> kMatrices = {{{"rows", 0}, {"cols", 1}},
                                             {{"rows", 1}, {"cols", 1}},
                                             {{"rows", 2}, {"cols", 100}},
                                             {{"rows", 7}, {"cols", 300}},
                                             {{"rows", 1}, {"cols", 1000}}};
static const std::vector<Example> kExamples = {
    {"softmax", "y", softmax, kMatrices, 8},
    {"rms_norm", "y", rms_norm, kMatrices, 8},
    {"silu_and_mul", "y", silu_and_mul, kMatrices, 4},
    {"scan", "y", scan, kMatrices, 8, 64},
    {"gemv",
     "y",
     gemv,
     {{{"n", 0}, {"k", 1}}, {{"n", 1}, {"k", 7}}, {{"n", 9}, {"k", 500}}},
     8,
     64},
    {"histogram", "counts", histogram, {{{"n", 0}}, {{"n", 1}}, {{"n", 10000}}}, 0}};

// How many steps of its type a number is from the right one.
static double steps(DType type, double got, double right, double terms) {
  if (type == DType::u32) return std::fabs(got - right);
  const int fraction = type == DType::bf16 ? 7 : type == DType::f16 ? 10 : 23;
  const int least = type == DType::f16 ? -14 : -126;
  const double size = std::max(std::fabs(right), type == DType::f32 ? terms : 0);
  const int power = size == 0 ? least : std::max(std::ilogb(size), least);
  return std::fabs(got - right) / std::ldexp(1.0, power - fraction);
}

// The largest distance of an element from what is right, in steps of its type.
static double distance(const Example& example, const Kernel& kernel,
                       const std::shared_ptr<Device>& device, const Sizes& sizes) {
  const Specialization& variant = kernel.specialization();
  const std::map<std::string, float> scalars = {{"eps", 1e-5f}, {"low", -4}, {"per_unit", 32}};
  const Names names = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto size = sizes.find(std::string(name));
    return size == sizes.end() ? variant.names()(name) : size->second;
  };
  Tensors tensors;
  std::vector<KernelArgument> arguments;
  for (const BoundArgument& one : variant.arguments()) {
    if (one.kind == Argument::Kind::size) {
      arguments.push_back(KernelArgument::size(sizes.at(one.name)));
    } else if (one.kind == Argument::Kind::scalar) {
      arguments.push_back(KernelArgument::scalar(scalars.at(one.name)));
    } else if (one.absent) {
      arguments.push_back(KernelArgument::tensor(one.dtype, nullptr));
    } else {
      const std::int64_t cols = one.shape.back().evaluate(names).value();
      const std::int64_t rows = one.shape.size() > 1 ? one.shape[0].evaluate(names).value() : 1;
      const auto made = tensors.try_emplace(one.name, device, one.dtype, rows, cols).first;
      arguments.push_back(made->second.argument());
    }
  }
  kernel.launch(arguments, {}).value();
  Matrix& output = tensors.at(example.output);
  output.fetch();
  double most = 0;
  for (std::int64_t row = 0; row < output.rows(); ++row)
    for (std::int64_t col = 0; col < output.cols(); ++col)
      most = std::max(most, steps(output.type(), output.at(row, col),
                                  example.plain(tensors, variant, row, col), example.terms));
  return most;
}

int main() {
  const auto runtime = Runtime::create().value();
  const std::string folder = EXAMPLE_KERNELS;  // where the kernels are
  runtime->add_header("kernels/block.h", folder + "/include/kernels/block.h").value();
  std::vector<std::shared_ptr<Device>> devices = {open_host_device().value()};
  const auto gpu = runtime->default_device();
  if (gpu && runtime->compiler((*gpu)->targets().front())) devices.push_back(*gpu);
  int wrong = 0;
  for (const Example& example : kExamples) {
    const auto tmpl = runtime->add(folder + "/" + example.name + ".cu").value();
    for (const auto& device : devices) {
      const Target target = device->targets().front();
      for (const Bindings& bindings : tmpl->space(target).value()) {
        const auto variant = Specialization::make(tmpl, bindings, target).value();
        const auto kernel = runtime->preload(variant, device).value();
        double most = 0;
        for (const Sizes& sizes : example.sizes)
          most = std::max(most, distance(example, *kernel, device, sizes));
        const bool sums = variant.number("IN") == static_cast<int>(DType::f32);
        const bool right = most <= (sums ? example.allowed : std::min(example.allowed, 1.0));
        std::printf("%s  %4.2f steps  %s\n", right ? "right" : "WRONG", most,
                    variant.spelling().c_str());
        wrong += !right;
      }
    }
  }
  return wrong == 0 ? 0 : 1;
}
