// Arguments by name, and sizes from shapes; see kernel_arguments.h.
#include <diecast/base/text.h>
#include <diecast/c/apart.h>
#include <diecast/c/kernel_arguments.h>
#include <diecast/c/status.h>
#include <diecast/c/tensors.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast::c {
namespace {

template <class T>
Result<KernelArgument> whole(const TensorName& name, std::int64_t given) {
  if (std::in_range<T>(given)) return KernelArgument::scalar(static_cast<T>(given));
  constexpr std::int64_t kMost = INT64_MAX;
  const std::uint64_t high =
      std::min<std::uint64_t>(kMost, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  return Error{
      ErrorCode::value_not_allowed, cat(name.text(), ": it is ", given),
      cat("pass an integer from ", std::int64_t{std::numeric_limits<T>::min()}, " to ", high)};
}

class ByName {
 public:
  ByName(const Kernel& kernel, std::span<const diecast_argument> given)
      : kernel_(kernel),
        wanted_(kernel.specialization().arguments()),
        all_(given),
        given_(wanted_.size()) {
    sizes_.reserve(wanted_.size());
  }

  Result<std::vector<KernelArgument>> read() {
    DIECAST_CHECK(match());
    for (std::size_t i = 0; i < wanted_.size(); ++i) DIECAST_CHECK(take_given_size(i));
    for (std::size_t i = 0; i < wanted_.size(); ++i) DIECAST_CHECK(take_shape(i));
    DIECAST_CHECK(check_apart(name(), placed_));
    std::vector<KernelArgument> out;
    out.reserve(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      DIECAST_TRY(KernelArgument value, value_of(i));
      out.push_back(value);
    }
    return out;
  }

 private:
  const std::string& name() const { return kernel_.specialization().tmpl().name(); }
  Error wrong(ErrorCode code, std::string_view argument, std::string_view what,
              std::string fix) const {
    return {code, cat(name(), ": ", argument, ": ", what), std::move(fix)};
  }
  static bool may_lack(const BoundArgument& one) {
    return one.kind == Argument::Kind::size || one.absent;
  }
  std::string names(bool needed) const {
    std::vector<std::string> all;
    for (const BoundArgument& one : wanted_)
      if (!needed || !may_lack(one)) all.push_back(one.name);
    return join(all, ", ");
  }
  Error not_given(const std::string& argument) const {
    const std::string& has = kernel_.specialization().tmpl().argument(argument)->optional;
    return wrong(ErrorCode::invalid_argument, argument, "it is not given",
                 has.empty() ? cat("give each of these: ", names(true))
                             : cat("give it, or specialize with ", has, "=0"));
  }

  Result<void> match() {
    for (const diecast_argument& one : all_) {
      const std::string_view name = one.name == nullptr ? "" : one.name;
      std::size_t at = 0;
      while (at < wanted_.size() && wanted_[at].name != name) ++at;
      if (at == wanted_.size()) {
        return wrong(ErrorCode::invalid_argument, quote(name, 40), "no argument has this name",
                     cat("its arguments are ", names(false)));
      }
      if (given_[at] != nullptr)
        return wrong(ErrorCode::invalid_argument, name, "it is given twice", "give it once");
      given_[at] = &one;
    }
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (given_[i] == nullptr && !may_lack(wanted_[i])) return not_given(wanted_[i].name);
    return {};
  }

  // A size is known by what is given, then by what is compiled in, then by shapes.
  Result<void> take_given_size(std::size_t i) {
    const BoundArgument& wanted = wanted_[i];
    if (wanted.kind != Argument::Kind::size) return {};
    if (given_[i] != nullptr) {
      const std::int32_t kind = given_[i]->kind;
      if (kind != DIECAST_SIZE && kind != DIECAST_INTEGER && kind != DIECAST_DEVICE_SIZE)
        return wrong(ErrorCode::invalid_argument, wanted.name, "it is a size", "pass an integer");
      if (kind == DIECAST_DEVICE_SIZE) DIECAST_CHECK(place(wanted, given_[i]->tensor));
      sizes_.emplace_back(wanted.name, given_[i]->integer);
    } else if (wanted.fixed) {
      sizes_.emplace_back(wanted.name, wanted.fixed_value);
    }
    return {};
  }

  // A size's value, or null where it is not known yet.
  const std::int64_t* known(std::string_view size) const {
    for (const auto& [name, value] : sizes_)
      if (name == size) return &value;
    return nullptr;
  }

  // What a tensor has along each line of its template's shape: leading dimensions flatten.
  Result<std::vector<std::int64_t>> dimensions(const BoundArgument& wanted,
                                               const diecast_tensor& tensor) const {
    const Shape shape = shape_of(tensor);
    const auto rank = static_cast<int>(wanted.shape.size());
    std::vector<std::int64_t> out(wanted.shape.size(), 1);
    if (shape.rank < rank || rank == 0) {
      if (shape.rank < rank)
        return wrong(ErrorCode::shape_mismatch, wanted.name, cat("it is ", shape.text()),
                     cat("pass a tensor of ", rank, " dimensions"));
      return out;
    }
    const int leading = shape.rank - rank;
    for (int i = 0; i < shape.rank; ++i) {
      std::int64_t& to = out[static_cast<std::size_t>(std::max(0, i - leading))];
      to = capped_product(to, shape.dims[static_cast<std::size_t>(i)]);
    }
    return out;
  }

  Result<void> place(const BoundArgument& wanted, const diecast_tensor* given) {
    DIECAST_CHECK(check_given(given, name(), wanted.name));
    DIECAST_TRY(const Extent extent, check_tensor(*given, {name(), wanted.name}));
    DIECAST_CHECK(check_place(*given, kernel_.device(), {name(), wanted.name}));
    const bool written =
        wanted.kind == Argument::Kind::tensor && wanted.direction != Argument::Direction::in;
    placed_.push_back({wanted.name, extent, written});
    return {};
  }

  // Sizes that stand alone in a shape are learnt.
  Result<void> take_shape(std::size_t i) {
    const BoundArgument& wanted = wanted_[i];
    if (wanted.kind != Argument::Kind::tensor || given_[i] == nullptr) return {};
    if (given_[i]->kind != DIECAST_TENSOR || given_[i]->tensor == nullptr)
      return wrong(ErrorCode::invalid_argument, wanted.name, "it is a tensor", "pass a tensor");
    const diecast_tensor& tensor = *given_[i]->tensor;
    DIECAST_CHECK(place(wanted, &tensor));
    DIECAST_TRY(const auto dims, dimensions(wanted, tensor));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::string& text = wanted.shape[d].text();
      if (known(text) == nullptr && kernel_.specialization().tmpl().size(text) != nullptr)
        sizes_.emplace_back(text, dims[d]);
    }
    return {};
  }

  Result<KernelArgument> value_of(std::size_t i) const {
    const BoundArgument& wanted = wanted_[i];
    switch (wanted.kind) {
      case Argument::Kind::tensor:
        if (given_[i] == nullptr) return KernelArgument::tensor(wanted.dtype, nullptr);
        return tensor(wanted, *given_[i]->tensor);
      case Argument::Kind::size:
        return size(wanted, given_[i]);
      case Argument::Kind::scalar:
        return scalar_of({name(), wanted.name}, wanted.dtype, *given_[i]);
      case Argument::Kind::structure:
      case Argument::Kind::tensor_map:
        break;
    }
    if (given_[i]->kind != DIECAST_BYTES || given_[i]->integer != wanted.bytes)
      return wrong(ErrorCode::invalid_argument, wanted.name,
                   cat("it is a structure of ", wanted.bytes, " bytes"), "pass its bytes");
    return KernelArgument::bytes(given_[i]->bytes, static_cast<std::size_t>(wanted.bytes));
  }

  Result<KernelArgument> tensor(const BoundArgument& wanted, const diecast_tensor& given) const {
    DIECAST_CHECK(check_shape(wanted, given));
    const std::int64_t row_stride = row_stride_of(given);
    if (wanted.shape.size() < 2 && row_stride != 0)
      return wrong(ErrorCode::shape_mismatch, wanted.name,
                   cat("it is ", shape_of(given).text(), " with rows ", row_stride,
                       " elements apart; the kernel takes one row"),
                   "pass a contiguous tensor");
    std::optional<DType> type = dtype_of(given);
    const int bits = given.type_bits * given.type_lanes;
    if (bits == 8 && dtype_bits(wanted.dtype) == 8 && (type == DType::u8 || !type))
      type = wanted.dtype;  // bytes serve for any type of 8 bits
    if (!type) {
      return wrong(ErrorCode::dtype_mismatch, wanted.name, cat("it is ", type_text(given)),
                   cat("pass ", dtype_name(wanted.dtype)));
    }
    return KernelArgument::tensor(*type, data_of(&given), row_stride);
  }

  Result<void> check_shape(const BoundArgument& wanted, const diecast_tensor& given) const {
    DIECAST_TRY(const auto dims, dimensions(wanted, given));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Expression& expected = wanted.shape[d];
      if (const std::int64_t* const size = known(expected.text()); size && *size == dims[d])
        continue;
      DIECAST_TRY(const std::int64_t size, value(expected));
      if (size == dims[d]) continue;
      if (elements_of(given) == 0) {  // however it says that it is empty
        DIECAST_TRY(const bool empty, is_empty(wanted));
        if (empty) return {};
      }
      return wrong(ErrorCode::shape_mismatch, wanted.name,
                   cat("it is ", shape_of(given).text(), ", and ", expected.text(), " is ", size),
                   "pass tensors whose shapes agree");
    }
    return {};
  }

  // Whether the shape of the header has no elements in this call.
  Result<bool> is_empty(const BoundArgument& wanted) const {
    for (const Expression& dimension : wanted.shape) {
      DIECAST_TRY(const std::int64_t size, value(dimension));
      if (size == 0) return true;
    }
    return false;
  }

  Result<std::int64_t> value(const Expression& of) const {
    const Names names = kernel_.specialization().names();
    return of.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      if (const std::int64_t* const size = known(name)) return *size;
      return names(name);
    });
  }

  Result<KernelArgument> size(const BoundArgument& wanted, const diecast_argument* given) const {
    if (given != nullptr && given->kind == DIECAST_DEVICE_SIZE) {
      DIECAST_TRY(const std::int64_t* at, integers_of(given->tensor, 1, {name(), wanted.name}));
      return KernelArgument::device_size(at, given->integer);
    }
    if (const std::int64_t* const size = known(wanted.name)) return KernelArgument::size(*size);
    return wrong(ErrorCode::value_missing, wanted.name, "no tensor's shape tells this size",
                 cat("pass ", wanted.name, " = a number"));
  }

  const Kernel& kernel_;
  const std::vector<BoundArgument>& wanted_;
  const std::span<const diecast_argument> all_;
  std::vector<const diecast_argument*> given_;                    // by the place of the `arg` line
  std::vector<std::pair<std::string_view, std::int64_t>> sizes_;  // by the names of `arg` lines
  std::vector<PlacedTensor> placed_;
};

}  // namespace

Result<KernelArgument> scalar_of(const TensorName& name, DType type,
                                 const diecast_argument& given) {
  const bool integer = given.kind == DIECAST_INTEGER || given.kind == DIECAST_SIZE;
  const bool real = type == DType::f32 || type == DType::f64;
  if (!integer && !(real && given.kind == DIECAST_NUMBER)) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(name.text(), ": it is a scalar of type ", dtype_name(type)),
                 real ? "pass a number" : "pass an integer"};
  }
  const double number = integer ? static_cast<double>(given.integer) : given.number;
  switch (type) {
    case DType::f32:
      return KernelArgument::scalar(static_cast<float>(number));
    case DType::f64:
      return KernelArgument::scalar(number);
    case DType::i8:
      return whole<std::int8_t>(name, given.integer);
    case DType::u8:
      return whole<std::uint8_t>(name, given.integer);
    case DType::u16:
      return whole<std::uint16_t>(name, given.integer);
    case DType::i32:
      return whole<std::int32_t>(name, given.integer);
    case DType::u32:
      return whole<std::uint32_t>(name, given.integer);
    case DType::u64:
      return whole<std::uint64_t>(name, given.integer);
    case DType::i64:
      return KernelArgument::scalar(given.integer);
    default:
      return Error{ErrorCode::not_supported,
                   cat(name.text(), ": no number is a scalar of type ", dtype_name(type)),
                   "have the template take an f32, and convert it there"};
  }
}

Result<std::vector<KernelArgument>> arguments_by_name(const Kernel& kernel,
                                                      std::span<const diecast_argument> given) {
  return ByName(kernel, given).read();
}

}  // namespace diecast::c
