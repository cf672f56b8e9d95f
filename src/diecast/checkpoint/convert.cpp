// From plan to file: every tensor in the plan's order, then the name.
#include <diecast/checkpoint/convert_stream.h>
#include <diecast/checkpoint/convert_values.h>
#include <diecast/checkpoint/run_tasks.h>

#include <cmath>
#include <iterator>
#include <memory>

namespace diecast {

Result<const TensorInfo*> ConvertStream::source(const std::string& name) const {
  if (const TensorInfo* found = input_.header().find(name)) return found;
  return Error{ErrorCode::invalid_argument,
               cat("the plan has a tensor ", quote(name), ", ", quote(input_.path(), 1000),
                   " has none of that name"),
               "make the plan from the header of the file to convert"};
}

void ConvertTally::add(std::uint64_t bytes, std::string_view name) {
  if (!options_.progress) return;
  const std::lock_guard lock(mutex_);
  done_ += bytes;
  options_.progress({done_, total_, name, side_files_});
}

Result<void> ConvertStream::read(const TensorInfo& tensor, std::uint64_t offset,
                                 std::span<std::byte> out) const {
  return input_.read(tensor, offset, out);
}

Result<void> ConvertStream::write(std::uint32_t file, const std::string& name, std::uint64_t offset,
                                  ByteSpan bytes) {
  const TensorInfo* to = file < writers_.size() ? writers_[file].layout().find(name) : nullptr;
  if (to == nullptr) {
    return Error{ErrorCode::internal, cat("the plan's output has no tensor ", quote(name)),
                 "report this with the command and the input"};
  }
  DIECAST_CHECK(writers_[file].write(*to, offset, bytes));
  tally_.add(bytes.size(), name);
  return {};
}

Result<void> ConvertStream::write_global(const PlannedTensor& weight, const std::string& name,
                                         std::uint64_t index, float decode_scale) {
  const bool reciprocal = has_reciprocals(weight.form);
  const float value[] = {reciprocal ? 1.0f / decode_scale : decode_scale};
  if (reciprocal && !(value[0] > 0 && std::isfinite(value[0]))) {
    return Error{
        ErrorCode::nonfinite_values,
        cat("the global scale ", decode_scale, " of ", quote(weight.name), " has no reciprocal"),
        "take --config modelopt, which stores the scale itself"};
  }
  return write(weight.file, name, index * sizeof(float), std::as_bytes(std::span(value)));
}

namespace {

Result<void> copy(ConvertStream& stream, const PlannedTensor& tensor) {
  DIECAST_TRY(const TensorInfo* source, stream.source(tensor.name));
  const std::uint64_t held = stream.held(1);
  for (std::uint64_t offset = 0; offset < source->bytes(); offset += held) {
    const auto bytes = stream.values.sized(std::min(held, source->bytes() - offset));
    DIECAST_CHECK(stream.read(*source, offset, bytes));
    DIECAST_CHECK(stream.write(tensor.file, tensor.name, offset, bytes));
  }
  return {};
}

Result<void> dequantize(ConvertStream& stream, const PlannedTensor& tensor,
                        const ConvertKernels& kernels, ConvertReport& report) {
  const StoredForm& form = tensor.form;
  DIECAST_TRY(const TensorInfo* codes, stream.source(codes_name(tensor.name, form)));
  DIECAST_TRY(const TensorInfo* scales, stream.source(scales_name(tensor.name, form)));
  DIECAST_TRY(const TensorInfo* scale_2, stream.source(scale_2_name(tensor.name, form)));
  const auto width = static_cast<std::uint64_t>(dtype_bits(tensor.to) / 8);
  Nonfinite found;
  std::vector<float> global;
  const auto convert_piece = [&](std::uint64_t matrix, const Piece& piece) -> Result<void> {
    const auto code_bytes = stream.codes.sized(piece.elements() / 2),
               scale_bytes = stream.scales.sized(piece.elements() / kScaleBlock),
               values = stream.values.sized(piece.elements() * width);
    DIECAST_CHECK(read_codes(stream, tensor, *codes, piece, 2, code_bytes));
    if (tensor.layout.high_first) swap_nibbles(code_bytes);
    DIECAST_CHECK(tensor.layout.scales == ScaleLayout::linear
                      ? read_codes(stream, tensor, *scales, piece, kScaleBlock, scale_bytes)
                      : read_tiled_scales(stream, tensor, *scales, piece, scale_bytes));
    global.resize(tensor.row_scaled ? piece.rows : 1);
    const std::uint64_t first = tensor.row_scaled ? piece.row : tensor.fused ? 0 : matrix;
    DIECAST_CHECK(
        stream.read(*scale_2, first * sizeof(float), std::as_writable_bytes(std::span(global))));
    if (has_reciprocals(form)) global[0] = 1.0f / global[0];
    DIECAST_CHECK(about(
        tensor.name,
        kernels.dequantize(code_bytes, scale_bytes, global, static_cast<std::int64_t>(piece.rows),
                           static_cast<std::int64_t>(piece.cols), tensor.to, values)));
    found += count_nonfinite(values, tensor.to);
    return write_values(stream, tensor, piece, width, values);
  };
  for (std::uint64_t matrix = 0; matrix < tensor.matrices.matrices; ++matrix) {
    DIECAST_CHECK(stream.each_piece(tensor.matrices, matrix, width, [&](const Piece& piece) {
      return convert_piece(matrix, piece);
    }));
  }
  return report_nonfinite(tensor, found, stream.plan(), report);
}

// A tensor that is in no group.
Result<void> carry_out(ConvertStream& stream, const PlannedTensor& tensor,
                       const ConvertKernels& kernels, ConvertReport& report) {
  if (tensor.action == Action::copy) {
    ++report.copied;
    DIECAST_CHECK(copy(stream, tensor));
    return tensor.fp8 ? keep_fp8_scales(stream, tensor) : Result<void>{};
  }
  ++(stream.plan().groups.empty() ? report.dequantized : report.copied);  // kept of a quantized one
  return tensor.scaled ? decode_scaled(stream, tensor, report)
                       : dequantize(stream, tensor, kernels, report);
}

void add(ConvertReport& sum, ConvertReport part) {
  sum.copied += part.copied;
  sum.quantized += part.quantized;
  sum.dequantized += part.dequantized;
  sum.cast_blocks += part.cast_blocks;
  sum.exact_blocks += part.exact_blocks;
  std::ranges::move(part.nonfinite, std::back_inserter(sum.nonfinite));
}

// First the groups, then what is in none.
Result<ConvertReport> carry_out(const std::vector<std::unique_ptr<ConvertStream>>& streams,
                                const Plan& plan, const ConvertKernels& kernels) {
  std::vector<const PlannedTensor*> others;
  for (const PlannedTensor& tensor : plan.tensors)
    if (tensor.action != Action::quantize) others.push_back(&tensor);
  const std::size_t groups = plan.groups.size();
  std::vector<ConvertReport> reports(groups + others.size());
  DIECAST_CHECK(run_tasks(streams.size(), reports.size(), [&](std::size_t job, std::size_t task) {
    ConvertStream& stream = *streams[job];
    return task < groups ? quantize_group(stream, plan, plan.groups[task], kernels, reports[task])
                         : carry_out(stream, *others[task - groups], kernels, reports[task]);
  }));
  ConvertReport sum;
  for (ConvertReport& report : reports) add(sum, std::move(report));
  return sum;
}

}  // namespace

Result<ConvertReport> convert(const Checkpoint& input, const Plan& plan, const std::string& output,
                              const ConvertKernels& kernels, const ConvertOptions& options,
                              FileSystem& files) {
  DIECAST_TRY(ConvertOutputs outputs,
              ConvertOutputs::create(input, plan, output, options.overwrite, files));
  ConvertTally tally(options, outputs);
  const std::uint64_t most = held_values(plan, options);
  std::vector<std::unique_ptr<ConvertStream>> streams;
  for (std::size_t job = 0; job < std::max(options.jobs, std::size_t{1}); ++job)
    streams.push_back(std::make_unique<ConvertStream>(input, outputs, plan, options, tally, most));
  DIECAST_TRY(ConvertReport report, carry_out(streams, plan, kernels));
  report.input_bytes = input.header().file_bytes;
  report.output_bytes = outputs.file_bytes();
  report.side_files = outputs.side_files();
  DIECAST_CHECK(input.unchanged());
  DIECAST_CHECK(outputs.commit());
  return report;
}

}  // namespace diecast
