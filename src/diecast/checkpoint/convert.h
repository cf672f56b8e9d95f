// Carries out a plan: reads a checkpoint, quantizes or dequantizes its weights piece by piece,
// copies everything else to the bit, and names the output when it is complete. Memory is bounded by
// ConvertOptions, never by a tensor or by what a header claims.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// The arithmetic, wherever it runs. Matrices are dense and row-major with cols a multiple of 16;
// `x` is f32, f16 or bf16. Codes take rows * cols / 2 bytes (low nibble first), block scales
// rows * cols / 16 E4M3 bytes. Every buffer is the caller's and starts at a multiple of 16 bytes.
// With several jobs as many threads call them at the same time.
struct ConvertKernels {
  // The plan's scheme under one given amax, which may be that of a larger matrix x is a part of.
  std::function<Result<void>(ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                             float amax, std::span<std::byte> codes, std::span<std::byte> scales)>
      quantize;

  // The plan's scheme under each row's own amax, which is an output: f32 [rows].
  std::function<Result<void>(ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                             std::span<std::byte> codes, std::span<std::byte> scales,
                             std::span<float> amax)>
      quantize_row_scaled;

  // To mxfp8 (a byte a value) or mxfp4 (codes as above) with an E8M0 byte for each 32 of a row: the
  // least power of two under which nothing is clipped; NaN for a block that has a NaN or an
  // infinity. cols is a multiple of 32.
  std::function<Result<void>(ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                             WeightFormat format, std::span<std::byte> codes,
                             std::span<std::byte> scales)>
      quantize_mx;

  // The decode form: (e2m1 * scale) * scale_2, rounded to `type`. scale_2 has 1 or `rows` entries.
  std::function<Result<void>(ByteSpan codes, ByteSpan scales, std::span<const float> scale_2,
                             std::int64_t rows, std::int64_t cols, DType type,
                             std::span<std::byte> x)>
      dequantize;
};

struct ConvertProgress {
  std::uint64_t done = 0, total = 0;  // bytes of the output's tensors
  std::string_view name;              // of the tensor at hand
  const SideFiles& side_files;        // what goes along
};

inline constexpr std::size_t kMostJobs = 256;  // that users ask for

struct ConvertOptions {
  // Threads that read, quantize and write, each what shares an amax or a copy at a time. The output
  // is the same for any number, and so is the error.
  std::size_t jobs = 1;
  // Bytes of floating-point data that a kernel gets at a time; at least one block.
  std::uint64_t piece_bytes = 32 << 20;
  // Values that share an amax and take up to so many bytes are read once, and held until the amax
  // is known. Others are read twice.
  std::uint64_t held_bytes = 1 << 30;
  // Told of one write after another, by the job that made it.
  std::function<void(const ConvertProgress&)> progress;
  bool overwrite = false;  // a finished output of the same names is replaced
};

struct NonfiniteTensor {
  std::string name;
  std::uint64_t nan = 0, infinite = 0;  // elements
  std::uint64_t nan_blocks = 0;         // of the output, where all elements are finite
};

struct ConvertReport {
  std::uint64_t copied = 0, quantized = 0, dequantized = 0;  // tensors
  std::uint64_t input_bytes = 0, output_bytes = 0;           // whole files
  std::uint64_t cast_blocks = 0, exact_blocks = 0;  // of MXFP4: all, and those without rounding
  std::vector<NonfiniteTensor> nonfinite;           // weights that have or get any
  SideFiles side_files;                             // what went along
};

// The values that a job holds at most: the largest matrices of one group, of a bank its largest
// expert's. 0 where no weights share an amax, or all take more than held_bytes.
std::uint64_t held_values(const Plan& plan, const ConvertOptions& options = {});

// `plan` was made from this checkpoint's header. A file becomes the file `output`; what was given
// as a folder or an index becomes a folder, made if it is missing: files of the same names and, of
// several, an index of the same name; what stands beside the weights goes along (side_files.h).
// Errors: nonfinite_values (unless the plan allows them; before the output has a name), io_error
// (also when the input changes meanwhile), file_exists (a finished output: the file, or such an
// index, or a folder's only file, unless they are to be overwritten; another file of the name of
// one that goes along; a symbolic link; a folder with another checkpoint), invalid_argument (the
// output is the input, or a file's name for a folder; the plan is another checkpoint's), and what
// the kernels return. After an error the output's name is what it was before; only where naming
// several files fails half way are the first ones there, without the index that makes them a
// checkpoint: one that is overwritten is gone before.
Result<ConvertReport> convert(const Checkpoint& input, const Plan& plan, const std::string& output,
                              const ConvertKernels& kernels, const ConvertOptions& options = {},
                              FileSystem& files = system_files());

}  // namespace diecast
