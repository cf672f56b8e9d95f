// Several jobs: the same bytes, report and error as with one, and no more memory than was said.
#include <checkpoint/convert_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/run_tasks.h>

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>

namespace diecast::testing {
namespace {

class ConvertJobs : public Convert {};

ConvertOptions with_jobs(std::size_t jobs) {
  ConvertOptions options;
  options.jobs = jobs;
  options.piece_bytes = 256;
  return options;
}

// Twelve pairs of an expert's weights, one of them three times as large, and experts in one tensor.
TestFile pairs() {
  TestFile file;
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t rows = i == 7 ? 24 : 8;
    file.tensors[cat("l.0.experts.", i, ".gate_proj.weight")] =
        random_tensor("BF16", {rows, 32}, static_cast<unsigned>(i));
    file.tensors[cat("l.0.experts.", i, ".up_proj.weight")] =
        random_tensor("BF16", {rows, 32}, static_cast<unsigned>(i + 100));
    file.tensors[cat("l.", i, ".norm.weight")] =
        random_tensor("F32", {32}, static_cast<unsigned>(i + 200));
  }
  file.tensors["l.0.e.weight"] = random_tensor("BF16", {5, 16, 32}, 300);
  return file;
}
constexpr std::uint64_t kLargestFamily = 2 * 24 * 32 * 2;

TEST_F(ConvertJobs, AnyNumberGivesTheSameBytesAndReport) {
  QuantizeOptions options;
  options.allow_nonfinite = true;
  options.include = {"*"};
  options.exclude = {"*norm*"};
  TestFile file = pairs();
  for (auto& [name, tensor] : file.tensors)
    if (name.ends_with("up_proj.weight")) tensor.bytes.replace(0, 2, "\x80\x7F");  // +inf
  std::string bytes, back;
  std::vector<std::string> nonfinite;
  for (const std::size_t jobs : {1, 2, 5, 100}) {
    const auto report = quantize(file, options, with_jobs(jobs));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->quantized, 25u);
    EXPECT_EQ(report->copied, 12u);
    std::vector<std::string> names;
    for (const NonfiniteTensor& tensor : report->nonfinite) names.push_back(tensor.name);
    ASSERT_TRUE(dequantize({}, with_jobs(jobs)));
    if (jobs == 1) {
      bytes = text_of(out_);
      back = text_of(back_);
      nonfinite = names;
      EXPECT_EQ(names.size(), 12u);
    }
    EXPECT_TRUE(text_of(out_) == bytes) << jobs;
    EXPECT_TRUE(text_of(back_) == back) << jobs;
    EXPECT_EQ(names, nonfinite) << jobs;
  }
}

TEST_F(ConvertJobs, ProgressTellsEachByteOnce) {
  ConvertOptions options = with_jobs(4);
  std::uint64_t last = 0, total = 0;
  options.progress = [&](const ConvertProgress& now) {
    EXPECT_GT(now.done, last);
    last = now.done;
    total = now.total;
  };
  ASSERT_TRUE(quantize(pairs(), {}, options));
  EXPECT_EQ(last, total);
}

// Counts the bytes at different addresses that kernels are given: the memory that values lie in.
TEST_F(ConvertJobs, TheyHoldAsManyTimesTheLargestFamilyAndNoMore) {
  write_text(in_, encode(pairs()));
  const Checkpoint checkpoint = Checkpoint::open(in_).value();
  const Plan plan = plan_quantize(checkpoint.header()).value();
  for (const std::size_t jobs : {1, 3}) {
    ConvertOptions options = with_jobs(jobs);
    options.overwrite = true;
    EXPECT_EQ(held_values(plan, options), kLargestFamily);
    std::mutex mutex;
    std::map<const std::byte*, std::size_t> seen;
    ConvertKernels kernels = scalar_kernels();
    const auto quantize = kernels.quantize;
    kernels.quantize = [&](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols, float amax,
                           std::span<std::byte> codes, std::span<std::byte> scales) {
      {
        const std::lock_guard lock(mutex);
        seen[x.data()] = std::max(seen[x.data()], x.size());
      }
      return quantize(x, type, rows, cols, amax, codes, scales);
    };
    ASSERT_TRUE(convert(checkpoint, plan, out_, kernels, options));
    std::size_t bytes = 0;
    for (const auto& [at, size] : seen) bytes += size;
    EXPECT_LE(bytes, jobs * kLargestFamily);
    EXPECT_GE(bytes, kLargestFamily);
  }
}

TEST_F(ConvertJobs, RowsUnderScalesOfTheirOwnAndMxHoldNothing) {
  QuantizeOptions rows, mx;
  rows.row_scaled = true;
  mx.format = WeightFormat::mxfp8;
  const CheckpointHeader file = header(pairs());
  EXPECT_EQ(held_values(plan_quantize(file, rows).value()), 0u);
  EXPECT_EQ(held_values(plan_quantize(file, mx).value()), 0u);
  ConvertOptions little;
  little.held_bytes = kLargestFamily - 1;
  EXPECT_EQ(held_values(plan_quantize(file).value(), little), kLargestFamily / 3);
}

TEST(RunTasks, TheFirstThatFailsIsTheError) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> done = 0;
    const auto result = run_tasks(4, 100, [&](std::size_t job, std::size_t task) -> Result<void> {
      EXPECT_LT(job, 4u);
      ++done;
      if (task < 30) return {};
      return Error{ErrorCode::internal, cat("task ", task), "none"};
    });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().what, "task 30");
    EXPECT_GE(done, 31u);
    EXPECT_LE(done, 34u);
  }
}

TEST(RunTasks, AnExceptionEndsTheRunAndComesOut) {
  std::atomic<std::size_t> done = 0;
  const auto run = [&] {
    (void)run_tasks(3, 1000, [&](std::size_t, std::size_t task) -> Result<void> {
      ++done;
      if (task == 1) throw std::runtime_error("no room");
      return {};
    }).ok();
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_GE(done, 2u);
  EXPECT_TRUE(run_tasks(3, 0, [](std::size_t, std::size_t) { return Result<void>{}; }));
}

}  // namespace
}  // namespace diecast::testing
