// Loading and comparing a case's tensors; see replay.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/vectors/replay.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace diecast {
namespace {

constexpr std::size_t kShownDifferences = 8;
constexpr std::uint64_t kCaseLimit = 256 << 20;  // bytes of one tensor: a case is held whole

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Whether both are multiples of `step` by neighbouring E2M1 values and of one sign.
bool one_step_apart(float a, float b, float step) {
  const int first = reference::encode_e2m1(std::fabs(a) / step);
  const int second = reference::encode_e2m1(std::fabs(b) / step);
  return std::abs(first - second) == 1 && (a == 0 || b == 0 || std::signbit(a) == std::signbit(b));
}

}  // namespace

Error corrupt_vectors(std::string_view path, std::string what) {
  return {ErrorCode::file_corrupt, cat(quote(path, 1000), ": ", what),
          "give a file in the format of tests/golden/README.md"};
}

CaseReplay::CaseReplay(const SafetensorsReader& file, const VectorKernels& kernels,
                       const VectorCase& one)
    : file_(file), kernels_(kernels), one_(one) {
  result_.name = one.name;
}

std::int64_t CaseReplay::cols() const { return static_cast<std::int64_t>(one_.shape.back()); }

std::int64_t CaseReplay::elements() const {
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : one_.shape) elements *= dim;
  return static_cast<std::int64_t>(elements);
}

std::int64_t CaseReplay::rows() const { return cols() == 0 ? 0 : elements() / cols(); }

Result<Bytes> CaseReplay::load(std::string_view what, StoredDType dtype,
                               std::uint64_t bytes) const {
  const std::string name = cat(one_.name, "/", what);
  const TensorInfo* tensor = file_.header().find(name);
  if (tensor == nullptr) {
    return corrupt_vectors(file_.path(), cat("tensor ", quote(name), " is missing"));
  }
  if (tensor->dtype != dtype || tensor->bytes() != bytes) {
    return corrupt_vectors(
        file_.path(),
        cat("tensor ", quote(name), " is ", stored_dtype_name(tensor->dtype), " of ",
            tensor->bytes(), " bytes, not ", stored_dtype_name(dtype), " of ", bytes));
  }
  if (bytes > kCaseLimit) {
    return corrupt_vectors(file_.path(), cat("tensor ", quote(name), " has ", bytes,
                                             " bytes, the limit is ", kCaseLimit));
  }
  Bytes out(bytes);
  DIECAST_CHECK(file_.read(*tensor, 0, out));
  return out;
}

Result<Bytes> CaseReplay::x() const {
  const StoredDType stored = stored_dtype(one_.dtype);
  const TensorSize size = tensor_size(stored, one_.shape);
  if (!size.fault.empty()) {
    return corrupt_vectors(file_.path(), cat("case ", quote(one_.name), ", shape ",
                                             shape_text(one_.shape), ": ", size.fault));
  }
  // One dimension of 0 makes no bytes of the others, of which amaxes have their number.
  std::uint64_t most = 1;
  for (const std::uint64_t dim : one_.shape) {
    if (dim != 0 && __builtin_mul_overflow(most, dim, &most)) most = UINT64_MAX;
    if (most > kCaseLimit)
      return corrupt_vectors(file_.path(),
                             cat("case ", quote(one_.name), ", shape ", shape_text(one_.shape),
                                 ": the limit is ", kCaseLimit, " elements"));
  }
  DIECAST_TRY(Bytes out, load("x", stored, size.bytes));
  const TensorInfo& tensor = *file_.header().find(cat(one_.name, "/x"));
  if (tensor.shape == one_.shape) return out;
  return corrupt_vectors(file_.path(),
                         cat("tensor ", quote(tensor.name), " has shape ", shape_text(tensor.shape),
                             ", its case says ", shape_text(one_.shape)));
}

Result<std::vector<float>> CaseReplay::floats(std::string_view what, std::int64_t count) const {
  std::vector<float> out(static_cast<std::size_t>(count));
  DIECAST_TRY(const Bytes bytes, load(what, StoredDType::f32, out.size() * sizeof(float)));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

void CaseReplay::count(std::string_view what, std::uint64_t index, std::uint32_t expected,
                       std::uint32_t got) {
  if (expected == got) return;
  ++result_.differing;
  if (result_.differences.size() < kShownDifferences) {
    result_.differences.push_back({std::string(what), index, expected, got});
  }
}

Result<void> CaseReplay::expect(std::string_view what, std::span<const std::uint8_t> got) {
  DIECAST_TRY(const Bytes bytes, load(what, StoredDType::u8, got.size()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    count(what, i, std::to_integer<std::uint32_t>(bytes[i]), got[i]);
  }
  return {};
}

Result<void> CaseReplay::expect(std::string_view what, std::span<const float> got) {
  DIECAST_TRY(const auto expected, floats(what, static_cast<std::int64_t>(got.size())));
  for (std::size_t i = 0; i < got.size(); ++i)
    count(what, i, bits_of(expected[i]), bits_of(got[i]));
  return {};
}

Result<void> CaseReplay::expect(std::string_view what, ByteSpan got) {
  DIECAST_TRY(const Bytes bytes, load(what, stored_dtype(one_.dtype), got.size()));
  const auto size = static_cast<std::uint64_t>(dtype_bits(one_.dtype) / 8);
  for (std::uint64_t i = 0; i < got.size(); i += size) {
    std::uint32_t expected = 0, value = 0;
    std::memcpy(&expected, bytes.data() + i, size);
    std::memcpy(&value, got.data() + i, size);
    count(what, i / size, expected, value);
  }
  return {};
}

Result<void> CaseReplay::expect_steps(std::string_view what, ByteSpan got,
                                      std::span<const float> scales) {
  DIECAST_TRY(const Bytes bytes, load(what, stored_dtype(one_.dtype), got.size()));
  const auto size = static_cast<std::uint64_t>(dtype_bits(one_.dtype) / 8);
  for (std::uint64_t i = 0; i < got.size() / size; ++i) {
    ++result_.of_near;
    if (std::memcmp(bytes.data() + i * size, got.data() + i * size, size) == 0) continue;
    const auto index = static_cast<std::int64_t>(i);
    const float expected = reference::load(bytes.data(), one_.dtype, index);
    const float value = reference::load(got.data(), one_.dtype, index);
    if (one_step_apart(expected, value, scales[i / 16])) {
      ++result_.near;
    } else {
      count(what, i, bits_of(expected), bits_of(value));
    }
  }
  return {};
}

void CaseReplay::skip(std::string reason) {
  result_.state = CaseResult::State::skipped;
  result_.reason = std::move(reason);
}

CaseResult CaseReplay::result() const {
  CaseResult out = result_;
  if (out.differing != 0) out.state = CaseResult::State::failed;
  return out;
}

}  // namespace diecast
