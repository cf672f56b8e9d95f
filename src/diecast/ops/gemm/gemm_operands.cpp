// What a product refuses, each with its reason, before anything is prepared.
#include <diecast/base/text.h>
#include <diecast/ops/gemm/gemm_operands.h>

namespace diecast {
namespace {

constexpr std::string_view kGemm = PreparedGemmNvfp4::kName;
constexpr std::int64_t kMostDepth = 1 << 24;  // so that 128 rows are within 32 bits

Result<void> check_letters(std::string_view layout) {
  if (layout == "TN" || layout == "NN" || layout == "NT") return {};
  return Error{ErrorCode::value_not_allowed, cat(kGemm, ": layout = ", layout),
               "layout = TN (both rowwise), NN (b columnwise) or NT (both columnwise)"};
}

Result<void> check_path(std::string_view path) {
  if (path == "own" || path == "unpacked" || path == "cublaslt" || path == "auto") return {};
  return Error{ErrorCode::value_not_allowed, cat(kGemm, ": path = ", path),
               "path = own, unpacked, cublaslt or auto"};
}

Result<void> check_operand(const GemmOperand& x) {
  if (x.tensor.type.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported,
                 cat(kGemm, ": ", x.name, " is ", word(x.tensor.type.format)),
                 "both operands are nvfp4: quantize_nvfp4 makes one"};
  }
  const std::string_view side = x.columnwise ? "columnwise" : "rowwise";
  if (!x.side().present() && x.rows() > 0 && x.depth() > 0) {
    return Error{
        ErrorCode::missing_buffer, cat(kGemm, ": ", x.name, " has no ", side, " buffers"),
        cat("quantize ", x.name, " ", side, " too, or choose a layout that reads its other side")};
  }
  if (x.side().amax == nullptr && x.rows() > 0) {
    return Error{ErrorCode::missing_buffer,
                 cat(kGemm, ": ", x.name, " has no ", side, " amax, which the product needs"),
                 cat("set ", x.name, ".", side, ".amax to f32 [",
                     x.tensor.type.row_scaled ? x.rows() : 1, "] in device memory")};
  }
  if (x.depth() > kMostDepth || x.side().scale_stride > kMostDepth) {
    return Error{ErrorCode::not_supported,
                 cat(kGemm, ": ", x.name, " has ", x.depth(), " products an element, its scales ",
                     x.side().scale_stride, " bytes from row to row"),
                 cat("at most ", kMostDepth, " of either: add parts with accumulate")};
  }
  if (x.depth() % 16 == 0) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(kGemm, ": ", x.name, " is ", x.tensor.shape.text(), ", whose ", x.depth(),
                   " products an element are no whole blocks of 16"),
               cat("pad to ", (x.depth() + 15) / 16 * 16)};
}

Result<void> check_operands(const GemmOperand& a, const GemmOperand& b) {
  if (a.depth() != b.depth()) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kGemm, ": a has ", a.depth(), " products an element, b ", b.depth()),
                 "a is [M, K] and b [N, K] as the layout reads them, with one K"};
  }
  if (a.tensor.type.layout == b.tensor.type.layout) return {};
  return Error{
      ErrorCode::not_supported,
      cat(kGemm, ": a has ", word(a.tensor.type.layout), " scales, b ", word(b.tensor.type.layout)),
      "give both operands one layout: arrange_scales turns linear into tiles"};
}

// Row scales go with an activation that is read along its rows, and not with gradients.
Result<void> check_row_scales(const GemmOperand& a, const GemmOperand& b, bool gradient) {
  if (a.tensor.type.row_scaled && a.columnwise) {
    return Error{ErrorCode::not_supported,
                 cat(kGemm, ": a is row-scaled, and layout NT reads its columns"),
                 "layout = TN or NN, or quantize a with one amax"};
  }
  if (b.tensor.type.row_scaled && b.columnwise) {
    return Error{ErrorCode::not_supported,
                 cat(kGemm, ": b is row-scaled, and its columns are read"),
                 "layout = TN, or quantize b with one amax"};
  }
  if (!gradient || (!a.tensor.type.row_scaled && !b.tensor.type.row_scaled)) return {};
  return Error{ErrorCode::not_supported,
               cat(kGemm, ": ", a.tensor.type.row_scaled ? "a" : "b",
                   " is row-scaled, and the product is a gradient"),
               "quantize the operands of a gradient with one amax each"};
}

Result<void> check_bias(const GemmNvfp4Options& options, std::int64_t rows, std::int64_t cols) {
  if (!options.bias) return {};
  const Tensor& bias = *options.bias;
  if (options.gradient) {
    return Error{ErrorCode::not_supported, cat(kGemm, ": a bias, and the product is a gradient"),
                 "bias = {}: its gradient is a sum of its own, or gradient = false"};
  }
  if (bias.dtype != DType::bf16 && bias.dtype != DType::f16 && bias.dtype != DType::f32) {
    return Error{ErrorCode::dtype_mismatch, cat(kGemm, ": bias is ", dtype_name(bias.dtype)),
                 "bias is bf16, f16 or f32"};
  }
  DIECAST_CHECK(bias.check("gemm_nvfp4: bias"));
  DIECAST_CHECK(bias.check_rows_known("gemm_nvfp4: bias"));
  if (bias.cols() == cols && bias.rows() == rows && bias.stride() == cols) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(kGemm, ": bias is ", bias.shape.text(), ", not ", rows, " dense rows of ", cols),
               cat("pass a bias of ", rows * cols, " numbers")};
}

Result<void> check_out(const Tensor& out, std::int64_t rows, std::int64_t cols) {
  if (out.dtype != DType::bf16 && out.dtype != DType::f16 && out.dtype != DType::f32) {
    return Error{ErrorCode::dtype_mismatch, cat(kGemm, ": out is ", dtype_name(out.dtype)),
                 "out is bf16, f16 or f32; quantize it afterwards"};
  }
  DIECAST_CHECK(out.check("gemm_nvfp4: out"));
  if (out.rows() != rows || out.cols() != cols) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(kGemm, ": out is ", out.shape.text(), ", the product [", rows, ", ", cols, "]"),
        cat("pass out with ", rows, " rows of ", cols)};
  }
  if (out.device_rows != nullptr) {
    return Error{ErrorCode::not_supported, cat(kGemm, ": out has a row count in device memory"),
                 "leave out.device_rows null: every row of a is multiplied"};
  }
  if (out.rows() <= 1 || out.stride() == cols) return {};
  return Error{ErrorCode::not_supported,
               cat(kGemm, ": rows of out are ", out.stride(), " elements apart, not ", cols),
               "pass a dense out, row_stride = 0"};
}

// What a launch checks of the addresses that it is given; here they are in descriptors.
Result<void> check_addresses_of(const GemmOperand& x) {
  const auto data = reinterpret_cast<std::uintptr_t>(x.side().data);
  const auto amax = reinterpret_cast<std::uintptr_t>(x.side().amax);
  if (data % 8 == 0 && amax % sizeof(float) == 0) return {};
  return Error{
      ErrorCode::misaligned,
      cat(kGemm, ": the codes of ", x.name, " start ", data % 8,
          " bytes past a multiple of 8, the amax ", amax % sizeof(float), " past one of 4"),
      "start codes at multiples of 8 bytes and amaxes at multiples of 4"};
}

// Members of b have `rows` each: `what` of another operand.
Result<void> check_group_of_b(const QuantizedGroup& b, std::int64_t rows, std::string_view what) {
  if (b.host_row_counts != nullptr || b.device_row_counts != nullptr) {
    return Error{ErrorCode::not_supported, cat(kGemm, ": members of b have row counts"),
                 "leave b's row counts null: all rows of a weight are real"};
  }
  bool whole = checked_product(b.count, rows) == b.whole.rows();
  for (std::int64_t i = 0; whole && b.host_row_offsets != nullptr && i <= b.count; ++i) {
    whole = b.host_row_offsets[i] == i * rows;
  }
  if (whole) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(kGemm, ": members of b do not have ", rows, " rows each, ", what),
               cat("describe b as ", b.count, " members of ", rows, " rows")};
}

// Of members that are multiplied along their rows: as far as the host knows them.
Result<void> check_equal_rows(const QuantizedGroup& a, const QuantizedGroup& b) {
  const auto unequal = [](auto... what) {
    return Error{ErrorCode::shape_mismatch, cat(kGemm, ": layout NT: ", what...),
                 "members of a and b have the same rows: give both groups the same offsets and "
                 "row counts"};
  };
  const auto has_counts = [](const QuantizedGroup& group) {
    return group.host_row_counts != nullptr || group.device_row_counts != nullptr;
  };
  if (a.whole.rows() != b.whole.rows())
    return unequal("a has ", a.whole.rows(), " rows, b ", b.whole.rows());
  if (has_counts(a) != has_counts(b))
    return unequal("members of ", has_counts(a) ? "a" : "b", " alone have row counts");
  const auto same = [&](const auto* of_a, const auto* of_b, std::int64_t i) {
    return of_a == nullptr || of_b == nullptr || of_a[i] == of_b[i];
  };
  for (std::int64_t i = 0; i < a.count; ++i) {
    if (!same(a.host_row_offsets, b.host_row_offsets, i + 1))
      return unequal("member ", i, " ends at row ", a.host_row_offsets[i + 1], " of a, ",
                     b.host_row_offsets[i + 1], " of b");
    if (!same(a.host_row_counts, b.host_row_counts, i))
      return unequal("member ", i, " has ", a.host_row_counts[i], " rows in a, ",
                     b.host_row_counts[i], " in b");
  }
  return {};
}

// The group as if it were one member, for the checks of matrices: with the most rows that one may
// have, in whole blocks.
QuantizedTensor as_member(const QuantizedGroup& group, std::int64_t rows) {
  QuantizedTensor one = group.whole;
  one.shape = {rows, one.cols()};
  return one;
}

bool starts_at_16(const QuantizedSide& side) {
  return reinterpret_cast<std::uintptr_t>(side.data) % 16 == 0;
}

bool is_whole_pairs(std::int64_t rows) { return ceil_div(rows, 16) % 2 == 0; }

}  // namespace

bool is_aligned(const QuantizedTensor& a, const QuantizedTensor& b, std::string_view layout) {
  const GemmOperand left = operand_a(a, layout), right = operand_b(b, layout);
  return left.depth() % 32 == 0 && starts_at_16(left.side()) && starts_at_16(right.side());
}

bool is_aligned(const QuantizedGroup& a, const QuantizedGroup& b, std::string_view layout) {
  if (layout != "NT") return is_aligned(a.whole, as_member(b, a.whole.cols()), layout);
  if (!starts_at_16(a.whole.columnwise) || !starts_at_16(b.whole.columnwise)) return false;
  if (a.host_row_offsets == nullptr) return false;
  if (a.device_row_counts != nullptr && a.host_row_counts == nullptr) return false;
  for (std::int64_t i = 0; i < a.count; ++i) {
    const std::int64_t rows = a.host_row_offsets[i + 1] - a.host_row_offsets[i];
    if (!is_whole_pairs(rows)) return false;
    if (a.host_row_counts != nullptr && !is_whole_pairs(a.host_row_counts[i])) return false;
  }
  return true;
}

GemmOperand operand_a(const QuantizedTensor& a, std::string_view layout) {
  return {"a", a, layout.ends_with('T')};
}

GemmOperand operand_b(const QuantizedTensor& b, std::string_view layout) {
  return {"b", b, layout.starts_with('N')};
}

args::TensorOf<DType::e4m3> scales_argument(const GemmOperand& x) {
  const bool linear = x.tensor.type.layout == ScaleLayout::linear;
  return {x.side().scale, linear ? x.side().scale_stride : 0};
}

float gemm_unit(const QuantizedTensor& a, const QuantizedTensor& b) {
  return 1.0f / static_cast<float>(36 * a.type.e4m3_bound * b.type.e4m3_bound);
}

Result<void> check_gemm(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                        const GemmNvfp4Options& options) {
  DIECAST_CHECK(check_letters(options.layout));
  DIECAST_CHECK(check_path(options.path));
  const GemmOperand left = operand_a(a, options.layout), right = operand_b(b, options.layout);
  DIECAST_CHECK(check_operand(left));
  DIECAST_CHECK(check_operand(right));
  DIECAST_CHECK(check_operands(left, right));
  DIECAST_CHECK(a.check(kGemm, "a"));
  DIECAST_CHECK(b.check(kGemm, "b"));
  DIECAST_CHECK(check_row_scales(left, right, options.gradient));
  DIECAST_CHECK(check_bias(options, 1, right.rows()));
  return check_out(out, left.rows(), right.rows());
}

Result<void> check_gemm(const QuantizedGroup& a, const QuantizedGroup& b, const Tensor& out,
                        const GemmNvfp4Options& options) {
  DIECAST_CHECK(check_letters(options.layout));
  DIECAST_CHECK(check_path(options.path));
  if (options.path == "cublaslt" || options.path == "unpacked") {
    return Error{ErrorCode::not_supported, cat(kGemm, ": path = ", options.path, " for groups"),
                 "path = own or auto: members may have rows that the device alone knows, or "
                 "gemm_nvfp4 of each member"};
  }
  const bool of_rows = options.layout == "NT", of_columns = options.layout == "NN";
  const std::int64_t most_rows = capped_product(ceil_div(a.whole.rows(), 16), 16);
  const QuantizedTensor one_a = of_rows ? as_member(a, most_rows) : a.whole;
  const QuantizedTensor one_b = of_rows      ? as_member(b, most_rows)
                                : of_columns ? as_member(b, a.whole.cols())
                                             : b.whole;
  const GemmOperand left = operand_a(one_a, options.layout);
  const GemmOperand right = operand_b(one_b, options.layout);
  DIECAST_CHECK(check_operand(left));
  DIECAST_CHECK(check_operand(right));
  DIECAST_CHECK(check_operands(left, right));
  DIECAST_CHECK(a.check("gemm_nvfp4: a"));
  if (a.count != b.count) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kGemm, ": a has ", a.count, " members, b ", b.count),
                 "give each member of a its weight"};
  }
  DIECAST_CHECK(b.check("gemm_nvfp4: b"));
  const std::int64_t cols = right.columnwise ? b.whole.cols() : out.cols();
  if (of_rows) {
    DIECAST_CHECK(check_equal_rows(a, b));
  } else {
    DIECAST_CHECK(of_columns ? check_group_of_b(b, a.whole.cols(), "the columns of a")
                             : check_group_of_b(b, cols, "the columns of out"));
  }
  DIECAST_CHECK(check_addresses_of(left));
  DIECAST_CHECK(check_addresses_of(right));
  DIECAST_CHECK(check_row_scales(left, right, options.gradient));
  DIECAST_CHECK(check_bias(options, b.count, cols));
  const auto all = of_rows ? checked_product(a.count, a.whole.cols()) : a.whole.rows();
  return check_out(out, all.value_or(-1), cols);
}

}  // namespace diecast
