// Tensors are read side by side in pieces; sums are kept in double, in the order of the elements.
#include <diecast/base/text.h>
#include <diecast/checkpoint/compare.h>
#include <diecast/checkpoint/floats.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace diecast {
namespace {

constexpr std::uint64_t kPieceElements = 1 << 20;

std::string type_text(const TensorInfo& tensor) {
  return cat(stored_dtype_name(tensor.dtype), " ", shape_text(tensor.shape));
}

void accumulate(const std::vector<float>& first, const std::vector<float>& second,
                ErrorFigures& figures) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i], b = second[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      ++figures.nonfinite;
      continue;
    }
    const double error = std::fabs(a - b);
    ++figures.elements;
    figures.largest = std::max(figures.largest, error);
    figures.sum += error;
    figures.noise += error * error;
    figures.signal += a * a;
  }
}

class Comparing {
 public:
  Comparing(const Checkpoint& first, const Checkpoint& second,
            const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : first_(first), second_(second), progress_(progress) {}

  Result<TensorComparison> tensor(const std::string& name);

 private:
  Result<void> read(const TensorInfo& a, const TensorInfo& b, TensorComparison& out);

  const Checkpoint& first_;
  const Checkpoint& second_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  std::uint64_t done_ = 0;
  Bytes bytes_[2];
  std::vector<float> values_[2];
};

Result<void> Comparing::read(const TensorInfo& a, const TensorInfo& b, TensorComparison& out) {
  const auto width = [](const TensorInfo& tensor) {
    return static_cast<std::uint64_t>(std::max(stored_dtype_bits(tensor.dtype) / 8, 1));
  };
  out.identical = a.dtype == b.dtype;
  const std::uint64_t units = a.bytes() / width(a);
  for (std::uint64_t unit = 0; unit < units; unit += kPieceElements) {
    const std::uint64_t count = std::min(kPieceElements, units - unit);
    bytes_[0].resize(count * width(a));
    bytes_[1].resize(count * width(b));
    DIECAST_CHECK(first_.read(a, unit * width(a), bytes_[0]));
    DIECAST_CHECK(second_.read(b, unit * width(b), bytes_[1]));
    out.identical = out.identical && bytes_[0] == bytes_[1];
    if (out.kind == Comparability::values) {
      widen(bytes_[0], *float_dtype(a.dtype), values_[0]);
      widen(bytes_[1], *float_dtype(b.dtype), values_[1]);
      accumulate(values_[0], values_[1], out.figures);
    }
    done_ += bytes_[0].size() + bytes_[1].size();
    if (progress_) progress_(done_, first_.header().data_bytes + second_.header().data_bytes);
  }
  return {};
}

Result<TensorComparison> Comparing::tensor(const std::string& name) {
  TensorComparison out;
  out.name = name;
  const TensorInfo* a = first_.header().find(name);
  const TensorInfo* b = second_.header().find(name);
  if (a == nullptr || b == nullptr) {
    out.kind = a != nullptr ? Comparability::only_first : Comparability::only_second;
    out.remark =
        cat(a != nullptr ? "only in the first: " : "only in the second: ", type_text(a ? *a : *b));
    return out;
  }
  const bool floats = float_dtype(a->dtype) && float_dtype(b->dtype);
  if (a->dtype != b->dtype && !floats)
    out.kind = Comparability::dtypes;
  else if (a->shape != b->shape)
    out.kind = Comparability::shapes;
  else if (!floats)
    out.kind = Comparability::bytes;
  if (out.kind == Comparability::dtypes || out.kind == Comparability::shapes) {
    out.remark = cat(type_text(*a), " and ", type_text(*b));
    return out;
  }
  DIECAST_CHECK(read(*a, *b, out));
  if (out.kind == Comparability::bytes)
    out.remark = out.identical ? "the same bytes" : "other bytes";
  return out;
}

}  // namespace

double ErrorFigures::decibels() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

void ErrorFigures::add(const ErrorFigures& other) {
  elements += other.elements;
  nonfinite += other.nonfinite;
  largest = std::max(largest, other.largest);
  sum += other.sum;
  noise += other.noise;
  signal += other.signal;
}

bool Comparison::identical() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return tensor.identical; });
}

Result<Comparison> compare(const Checkpoint& first, const Checkpoint& second,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::set<std::string> names;
  for (const Checkpoint* reader : {&first, &second}) {
    for (const TensorInfo& tensor : reader->header().tensors) names.insert(tensor.name);
  }
  Comparing comparing(first, second, progress);
  Comparison out;
  for (const std::string& name : names) {
    DIECAST_TRY(TensorComparison tensor, comparing.tensor(name));
    if (tensor.kind == Comparability::values) out.total.add(tensor.figures);
    out.tensors.push_back(std::move(tensor));
  }
  DIECAST_CHECK(first.unchanged());
  DIECAST_CHECK(second.unchanged());
  return out;
}

}  // namespace diecast
