// Quantizing a group of weights. A scale that weights share needs all of their values first. Where
// there is room they are held meanwhile; else they are read twice, once for the amax.
#include <diecast/checkpoint/convert_cast.h>
#include <diecast/checkpoint/convert_held.h>
#include <diecast/checkpoint/convert_mx.h>
#include <diecast/checkpoint/convert_stream.h>
#include <diecast/checkpoint/convert_values.h>
#include <diecast/checkpoint/floats.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <span>

namespace diecast {
namespace {

constexpr float kNan = std::bit_cast<float>(0x7FFFFFFFu);  // as amaxes of kernels have it

std::int64_t as_signed(std::uint64_t size) { return static_cast<std::int64_t>(size); }
std::uint64_t as_unsigned(std::int64_t size) { return static_cast<std::uint64_t>(size); }

ByteSpan float_bytes(std::span<const float> values) { return std::as_bytes(values); }

// One weight on its way: its buffers, and what was seen in it.
class Weight {
 public:
  // `held`: room for the values of a matrix from its measure() to its quantize(), or none.
  Weight(ConvertStream& stream, const PlannedTensor& tensor, const ConvertKernels& kernels,
         std::span<std::byte> held)
      : stream_(stream), tensor_(tensor), kernels_(kernels), held_(held) {}

  const Nonfinite& nonfinite() const { return nonfinite_; }
  std::uint64_t nan_blocks() const { return nan_blocks_; }

  // Raises `amax` to the largest magnitude of one matrix; NaN counts as the profile says.
  Result<void> measure(const Matrices& of, std::uint64_t matrix, float& amax);
  Result<void> quantize(const Matrices& of, std::uint64_t matrix, float amax);
  Result<void> write_scale_2(std::uint64_t index, float amax);
  // Every row under its own amax, in one pass.
  Result<void> quantize_rows();
  Result<void> write_input_scale(std::uint64_t index);

 private:
  // Where a piece's values go: of one matrix, and in the piece's own buffer where none are held.
  std::span<std::byte> room(const Matrices& of, const Piece& piece) const;
  // Of values that are there for the first time.
  Result<FloatScan> read(const Piece& piece, std::span<std::byte> values);
  Result<void> write_blocks(const Piece& piece, std::span<const std::byte> codes,
                            std::span<const std::byte> scales);

  ConvertStream& stream_;
  const PlannedTensor& tensor_;
  const ConvertKernels& kernels_;
  Nonfinite nonfinite_;
  std::uint64_t nan_blocks_ = 0;
  std::span<std::byte> held_;
};

std::span<std::byte> Weight::room(const Matrices& of, const Piece& piece) const {
  const std::uint64_t width = width_of(tensor_), bytes = piece.elements() * width;
  if (held_.empty()) return stream_.values.sized(bytes);
  const std::uint64_t first = tensor_.fused ? piece.first : piece.first % (of.rows * of.cols);
  return held_.subspan(first * width, bytes);
}

Result<FloatScan> Weight::read(const Piece& piece, std::span<std::byte> values) {
  DIECAST_CHECK(read_values(stream_, tensor_, piece, values));
  const FloatScan found = scan_floats(values, type_of(tensor_));
  nonfinite_ += found.nonfinite;
  return found;
}

Result<void> Weight::write_blocks(const Piece& piece, std::span<const std::byte> codes,
                                  std::span<const std::byte> scales) {
  constexpr std::byte kE4m3Nan{0x7F};
  nan_blocks_ += as_unsigned(std::ranges::count(scales, kE4m3Nan));
  DIECAST_CHECK(
      write_codes(stream_, tensor_, codes_name(tensor_.name, tensor_.form), piece, 2, codes));
  return write_codes(stream_, tensor_, part_name(tensor_.name, kScalePart), piece, kScaleBlock,
                     scales);
}

// Engines ask for this tensor even where activations are scaled as they come; 1 leaves them alone.
Result<void> Weight::write_input_scale(std::uint64_t index) {
  if (tensor_.form.format == WeightFormat::nvfp4_w4a16) return {};
  return stream_.write_global(tensor_, input_scale_name(tensor_.name, tensor_.form), index,
                              tensor_.input_scale);
}

Result<void> Weight::measure(const Matrices& of, std::uint64_t matrix, float& amax) {
  return stream_.each_piece(of, matrix, width_of(tensor_), [&](const Piece& piece) -> Result<void> {
    DIECAST_TRY(const FloatScan found, read(piece, room(of, piece)));
    const bool is_nan = found.nonfinite.nan > 0 && !ignores_nan(stream_.scheme().profile);
    amax = is_nan ? kNan : std::max(amax, found.largest);  // max keeps a NaN that is there
    return {};
  });
}

Result<void> Weight::quantize(const Matrices& of, std::uint64_t matrix, float amax) {
  return stream_.each_piece(of, matrix, width_of(tensor_), [&](const Piece& piece) -> Result<void> {
    const std::span<std::byte> values = room(of, piece),
                               codes = stream_.codes.sized(piece.elements() / 2),
                               scales = stream_.scales.sized(piece.elements() / kScaleBlock);
    if (held_.empty()) DIECAST_CHECK(read_values(stream_, tensor_, piece, values));
    DIECAST_CHECK(
        about(tensor_.name, kernels_.quantize(values, type_of(tensor_), as_signed(piece.rows),
                                              as_signed(piece.cols), amax, codes, scales)));
    return write_blocks(piece, codes, scales);
  });
}

Result<void> Weight::write_scale_2(std::uint64_t index, float amax) {
  return stream_.write_global(tensor_, scale_2_name(tensor_.name, tensor_.form), index,
                              decode_scale(stream_.scheme(), amax));
}

Result<void> Weight::quantize_rows() {
  // Rows of all experts are alike here: one matrix.
  const Matrices of{1, tensor_.matrices.matrices * tensor_.matrices.rows, tensor_.matrices.cols};
  std::vector<float> row_values;  // of each row first its amax, then its scale
  return stream_.each_piece(of, 0, width_of(tensor_), [&](const Piece& piece) -> Result<void> {
    const std::span<std::byte> values = room(of, piece),
                               codes = stream_.codes.sized(piece.elements() / 2),
                               scales = stream_.scales.sized(piece.elements() / kScaleBlock);
    DIECAST_CHECK(read(piece, values));
    row_values.resize(piece.rows);
    DIECAST_CHECK(about(tensor_.name, kernels_.quantize_row_scaled(
                                          values, type_of(tensor_), as_signed(piece.rows),
                                          as_signed(piece.cols), codes, scales, row_values)));
    for (float& value : row_values) value = decode_scale(stream_.scheme(), value);
    DIECAST_CHECK(stream_.write(tensor_.file, part_name(tensor_.name, kScale2Part),
                                piece.row * sizeof(float), float_bytes(row_values)));
    return write_blocks(piece, codes, scales);
  });
}

// Some profiles divide 0 by 0 where a matrix or a row has nothing but zeros.
Result<void> report_nan_blocks(const PlannedTensor& tensor, std::uint64_t blocks, const Plan& plan,
                               ConvertReport& report) {
  if (blocks == 0) return {};
  report.nonfinite.push_back({tensor.name, 0, 0, blocks});
  if (plan.allow_nonfinite) return {};
  return Error{ErrorCode::nonfinite_values,
               cat("tensor ", quote(tensor.name), " is finite, and profile ",
                   word(plan.scheme.profile), " makes ", blocks, " of its blocks NaN"),
               cat("take another profile, leave the tensor out with --exclude ",
                   quote(glob_of(tensor.stored_in())), ", or have it so with --allow-nonfinite")};
}

Result<void> quantize_matrices(const Plan& plan, const std::vector<std::size_t>& group,
                               std::vector<Weight>& weights) {
  const PlannedTensor& first = plan.tensors[group[0]];
  for (std::uint64_t matrix = 0; matrix < scaled_matrices(first).matrices; ++matrix) {
    float amax = 0.0f;
    for (std::size_t i = 0; i < group.size(); ++i) {
      DIECAST_CHECK(weights[i].measure(scaled_matrices(plan.tensors[group[i]]), matrix, amax));
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      DIECAST_CHECK(weights[i].quantize(scaled_matrices(plan.tensors[group[i]]), matrix, amax));
      DIECAST_CHECK(weights[i].write_scale_2(matrix, amax));
      if (!first.row_scaled) DIECAST_CHECK(weights[i].write_input_scale(matrix));
    }
  }
  if (first.row_scaled) return weights[0].write_input_scale(0);
  return {};
}

// The weights of a group, each with its part of what the group holds.
std::vector<Weight> weights_of(ConvertStream& stream, const std::vector<std::size_t>& group,
                               const ConvertKernels& kernels) {
  const Plan& plan = stream.plan();
  std::span<std::byte> room = stream.room_to_hold(held_values(plan, group, stream.options()));
  std::vector<Weight> weights;
  for (const std::size_t i : group) {
    const PlannedTensor& tensor = plan.tensors[i];
    const std::uint64_t bytes = scaled_elements(tensor) * width_of(tensor);
    const auto own = room.first(room.empty() ? 0 : bytes);
    weights.emplace_back(stream, tensor, kernels, own);
    room = room.subspan(own.size());
  }
  return weights;
}

// All experts in one tensor: one amax for all of them.
Result<void> quantize_fused(const Matrices& of, Weight& weight) {
  float amax = 0.0f;
  for (std::uint64_t matrix = 0; matrix < of.matrices; ++matrix)
    DIECAST_CHECK(weight.measure(of, matrix, amax));
  for (std::uint64_t matrix = 0; matrix < of.matrices; ++matrix)
    DIECAST_CHECK(weight.quantize(of, matrix, amax));
  DIECAST_CHECK(weight.write_scale_2(0, amax));
  return weight.write_input_scale(0);
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? 0.0f : x; }

float scale_with_subnormals(const Nvfp4Scheme& scheme, float amax) {
  const Profile profile = scheme.profile;
  const float largest = static_cast<float>(6 * scheme.e4m3_bound);
  if (profile == Profile::modelopt || profile == Profile::torchao ||
      profile == Profile::flashinfer_fast) {
    const float reciprocal = 1.0f / largest;
    return amax * reciprocal;
  }
  if (!ignores_nan(profile) && std::isnan(amax)) return amax;
  const float scale = std::fmin(largest / amax, FLT_MAX);
  // Where the others have a zero's rule.
  const bool saturates = profile == Profile::te_ref || profile == Profile::flashinfer_exact;
  return scale == 0.0f || (amax == 0.0f && !saturates) ? 1.0f : 1.0f / scale;
}

}  // namespace

Result<void> report_nonfinite(const PlannedTensor& tensor, const Nonfinite& found, const Plan& plan,
                              ConvertReport& report) {
  if (found.nan + found.infinite == 0) return {};
  report.nonfinite.push_back({tensor.name, found.nan, found.infinite});
  if (plan.allow_nonfinite) return {};
  const auto what = [&](std::string_view is, const std::string& where) {
    return cat("tensor ", quote(tensor.name), is, found.nan, " NaN and ", found.infinite,
               " infinite values", where);
  };
  if (tensor.action == Action::dequantize)
    return Error{ErrorCode::nonfinite_values, what(" becomes ", cat(" in ", dtype_name(tensor.to))),
                 "take a type of a wider range (--to bf16, f32), or have it so without --strict"};
  return Error{ErrorCode::nonfinite_values, what(" has ", ""),
               cat("mend the tensor, leave it out with --exclude ",
                   quote(glob_of(tensor.stored_in())), ", or have it so with --allow-nonfinite")};
}

float decode_scale(const Nvfp4Scheme& scheme, float amax) {
  const bool flushes =
      scheme.profile == Profile::flashinfer_exact || scheme.profile == Profile::flashinfer_fast;
  if (!flushes) return scale_with_subnormals(scheme, amax);
  return flushed(scale_with_subnormals(scheme, flushed(amax)));
}

Result<void> quantize_group(ConvertStream& stream, const Plan& plan,
                            const std::vector<std::size_t>& group, const ConvertKernels& kernels,
                            ConvertReport& report) {
  if (is_mx(plan.tensors[group[0]].form.format)) {
    for (const std::size_t i : group)
      DIECAST_CHECK(quantize_mx_weight(stream, plan.tensors[i], kernels, report));
    return {};
  }
  if (plan.converted) {
    for (const std::size_t i : group) DIECAST_CHECK(rename_weight(stream, plan.tensors[i], report));
    return {};
  }
  if (is_cast(plan, group)) return cast_group(stream, plan, group, report);
  std::vector<Weight> weights = weights_of(stream, group, kernels);
  const PlannedTensor& first = plan.tensors[group[0]];
  if (first.fused) {
    DIECAST_CHECK(quantize_fused(first.matrices, weights[0]));
  } else if (in_one_pass(first, stream.options())) {
    DIECAST_CHECK(weights[0].quantize_rows());
    DIECAST_CHECK(weights[0].write_input_scale(0));
  } else {
    DIECAST_CHECK(quantize_matrices(plan, group, weights));
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[group[i]];
    const Nonfinite& found = weights[i].nonfinite();
    DIECAST_CHECK(found.nan + found.infinite > 0
                      ? report_nonfinite(tensor, found, plan, report)
                      : report_nan_blocks(tensor, weights[i].nan_blocks(), plan, report));
  }
  report.quantized += group.size();
  return {};
}

}  // namespace diecast
