// Which kernels a prepared quantize_nvfp4 holds for few rows where tuning records tell, on a fake
// GPU.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/kernel_arguments.h>
#include <diecast/runtime/tuner.h>
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

TuningRecord record(std::string kernel, RunSizes sizes, std::string tunes, std::int64_t ns) {
  TuningRecord out;
  out.kernel = std::move(kernel);
  out.device = "Fake_GPU/90/132";
  out.sizes = std::move(sizes);
  out.tunes = std::move(tunes);
  out.ns = ns;
  out.samples = 15;
  return out;
}

std::string name_of(const Kernel& kernel) {
  const Specialization& one = kernel.specialization();
  const Template& tmpl = one.tmpl();
  std::string out = tmpl.name();
  for (const char* const tune : {"LANES", "THREADS", "BLOCKS", "CLUSTER", "ROWS_AT_ONCE", "NEXT"})
    if (tmpl.parameter(tune)) out += cat(" ", one.bindings().find(tune)->spelling());
  return out;
}

class QuantizeNvfp4Tuned : public ::testing::Test {
 protected:
  // For rows of 7168.
  static TuningRecord of_rows(std::int64_t rows, std::string tunes, std::int64_t ns) {
    return record("quantize_nvfp4_row_scaled_few COLS=7168 IN=bf16 LAYOUT=linear @ sm_90a",
                  {{"rows", rows}}, std::move(tunes), ns);
  }
  static TuningRecord once(std::int64_t rows, std::string tunes, std::int64_t ns,
                           const char* layout = "linear") {
    const bool linear = std::string_view(layout) == "linear";
    RunSizes sizes = {{"rows", rows}};
    if (linear) sizes.emplace_back("cols", 4096);
    return record(
        cat("quantize_nvfp4_few COLS=", linear ? 0 : 4096, " IN=bf16 LAYOUT=", layout, " @ sm_90a"),
        std::move(sizes), std::move(tunes), ns);
  }
  static TuningRecord many(std::int64_t rows, std::int64_t ns) {
    return record(
        "quantize_nvfp4 COLS=0 ROWS=dense SCALES_APART=0 IN=bf16 BLOCK=16 PROFILE=te GLOBAL=amax "
        "ROW_SCALE=0 LAYOUT=linear FOUR_OVER_SIX=off BOUND=448 BLOCK_AMAX=0 RHT=0 SIGN_MASK=0 "
        "STOCHASTIC=0 @ sm_90a",
        {{"rows", rows}, {"cols", 4096}}, "THREADS=128 waves=256", ns);
  }
  PreparedQuantizeNvfp4 prepare(std::vector<TuningRecord> records,
                                const PreparedQuantizeNvfp4::Request& request) {
    runtime_->add_tuning(std::move(records));
    return PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
  }

  testing::FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  std::shared_ptr<Device> device_ = machine_.cuda.device();
};

// 8 and 32 rows were measured: the first serves up to 16, both together 4 to 64.
TEST_F(QuantizeNvfp4Tuned, RowsTakeTheFastestOfTheNearestSize) {
  PreparedQuantizeNvfp4::Request request;
  request.out.row_scaled = true;
  request.cols = 7168;
  const auto as_shipped = prepare({}, request);
  const auto tuned = prepare({of_rows(8, "BLOCKS=1 CLUSTER=1 ROWS_AT_ONCE=1 NEXT=codes", 900),
                              of_rows(8, "BLOCKS=1 CLUSTER=8 ROWS_AT_ONCE=1 NEXT=elements", 800),
                              of_rows(32, "BLOCKS=2 CLUSTER=2 ROWS_AT_ONCE=1 NEXT=codes", 1000)},
                             request);
  const auto at = [&](std::int64_t rows) { return name_of(tuned.kernel(rows * 7168)); };
  const std::string fewest = "quantize_nvfp4_row_scaled_few 1 8 1 elements";
  const std::string more = "quantize_nvfp4_row_scaled_few 2 2 1 codes";  // as none shipped
  for (const std::int64_t rows : {1, 3, 65, 80, 447, 680, 898, 5000})
    EXPECT_EQ(at(rows), name_of(as_shipped.kernel(rows * 7168))) << rows;
  for (const std::int64_t rows : {4, 8, 16}) EXPECT_EQ(at(rows), fewest) << rows;
  for (const std::int64_t rows : {17, 32, 64}) EXPECT_EQ(at(rows), more) << rows;
  EXPECT_EQ(name_of(tuned.kernel(8 * 7168, true)), name_of(as_shipped.kernel(8 * 7168, true)));
}

// The kernel for any number of elements where it was faster; it is not asked for where it was not
// measured, nor do its records alone decide anything.
TEST_F(QuantizeNvfp4Tuned, TheKernelForManyServesWhereItWasFaster) {
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  const auto as_shipped = prepare({}, request);
  const auto without = prepare({many(8, 100)}, request);
  EXPECT_EQ(name_of(without.kernel(8 * 4096)), name_of(as_shipped.kernel(8 * 4096)));
  const auto tuned = prepare(
      {once(8, "LANES=1 THREADS=512 BLOCKS=1", 700), once(64, "LANES=1 THREADS=512 BLOCKS=1", 900),
       many(64, 800), once(512, "LANES=1 THREADS=128 BLOCKS=1", 1500), many(512, 1600)},
      request);
  const auto at = [&](std::int64_t rows) { return name_of(tuned.kernel(rows * 4096)); };
  EXPECT_EQ(at(2), name_of(as_shipped.kernel(2 * 4096)));
  EXPECT_EQ(at(8), "quantize_nvfp4 128");
  EXPECT_EQ(at(64), "quantize_nvfp4 128");
  EXPECT_EQ(at(512), "quantize_nvfp4_few 1 128 1");
}

// Where nothing is compiled records choose among what the cache has: they cost speed at most.
TEST_F(QuantizeNvfp4Tuned, WithoutACompilerTheCacheDecides) {
  PreparedQuantizeNvfp4::Request request;
  request.out.row_scaled = true;
  request.cols = 7168;
  prepare({}, request);  // as without records
  const auto held = of_rows(8, "BLOCKS=1 CLUSTER=2 ROWS_AT_ONCE=1 NEXT=amax", 900);
  ASSERT_TRUE(runtime_->resolve(
      runtime_
          ->specialize("quantize_nvfp4_row_scaled_few COLS=7168 IN=bf16 CLUSTER=2 "
                       "NEXT=amax @ sm_90a")
          .value()));
  runtime_->flush();
  RuntimeOptions serving = machine_.options();
  serving.cache_policy = CachePolicy::require_hit;
  runtime_ = Runtime::create(serving).value();
  const auto tuned = prepare({held, of_rows(8, "BLOCKS=2 CLUSTER=8 ROWS_AT_ONCE=1 NEXT=codes", 800),
                              of_rows(128, "BLOCKS=2 CLUSTER=4 ROWS_AT_ONCE=1 NEXT=codes", 800)},
                             request);
  EXPECT_EQ(name_of(tuned.kernel(8 * 7168)), "quantize_nvfp4_row_scaled_few 1 2 1 amax");
}

// What finds the amax itself stays where it is: it is not what was measured.
TEST_F(QuantizeNvfp4Tuned, WhatFindsTheAmaxStays) {
  const auto tuned = prepare({once(8, "LANES=1 THREADS=1024 BLOCKS=1", 700),
                              once(64, "LANES=2 THREADS=128 BLOCKS=1", 800)},
                             {});
  const std::string finds_amax = name_of(tuned.kernel(8 * 4096));
  EXPECT_TRUE(finds_amax.starts_with("quantize_nvfp4_amax_few ")) << finds_amax;
  EXPECT_EQ(name_of(tuned.kernel(64 * 4096)), "quantize_nvfp4_few 2 128 1");
}

// A grid along y ends at 65535: no choice reaches beyond what its threads can do.
TEST_F(QuantizeNvfp4Tuned, NoChoiceIsForMoreThanItsGridHas) {
  void* const kMemory = reinterpret_cast<void*>(0x1000);  // nothing is launched
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  for (const char* const layout : {"linear", "s128x4"}) {
    if (std::string_view(layout) != "linear")
      request.out.layout = ScaleLayout::s128x4, request.cols = 4096;
    const auto tuned = prepare({once(1, "LANES=2 THREADS=128 BLOCKS=1", 700, layout),
                                once(60000, "LANES=2 THREADS=128 BLOCKS=1", 700, layout)},
                               request);
    bool seen = false, others = false;
    std::vector<std::int64_t> all;
    for (std::int64_t rows = 1; rows < 120000; rows += rows / 16 + 1) all.push_back(rows);
    // 16384 of 256 blocks of 16, two threads each, are 65536 thread blocks.
    for (std::int64_t rows = 16370; rows < 16400; ++rows) all.push_back(rows);
    for (const std::int64_t rows : all) {
      const Kernel& kernel = tuned.kernel(rows * 4096);
      const args::QuantizeNvfp4Few arguments{.x = KernelArgument::tensor(DType::bf16, kMemory),
                                             .amax = kMemory,
                                             .codes = kMemory,
                                             .scales = kMemory,
                                             .rows = rows,
                                             .cols = 4096};
      if (kernel.specialization().tmpl().name() != "quantize_nvfp4_few") {
        others = true;
        continue;
      }
      seen = true;
      const auto shape = kernel.shape(arguments.in_order());
      EXPECT_TRUE(shape) << layout << ", " << rows << " rows: " << shape.error().message();
    }
    EXPECT_TRUE(seen && others) << layout;
  }
}

}  // namespace
}  // namespace diecast
