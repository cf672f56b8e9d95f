// An op that was made by default, as a member of an engine's layer is, or moved from: it has no
// kernel, and says so.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/group/describe_group.h>
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

std::string message(std::string_view op) {
  return cat("diecast: not_resident: ", op,
             " is not prepared: this op was made by default or moved from\n"
             "  fix: run the op that its prepare() returned");
}

// A run with these arguments of an op that was made by default.
template <class Prepared, class... Arguments>
void expect_refused(std::string_view name, const Arguments&... arguments) {
  const auto ran = Prepared().run(arguments...);
  ASSERT_FALSE(ran) << name;
  EXPECT_EQ(ran.error().message(), message(name));
}
template <class Prepared, class... Arguments>
void expect_refused_by_name(const Arguments&... arguments) {
  expect_refused<Prepared>(Prepared::kName, arguments...);
}

TEST(NotPrepared, AnOpMadeByDefaultIsAnErrorThatNamesIt) {
  const Tensor x, out;
  const QuantizedTensor q;
  const QuantizedGroup group;
  const TensorGroup tensors;
  const ScaleArray scales;
  float* const result = nullptr;
  const Stream stream;
  expect_refused_by_name<PreparedAmax>(x, result, false, stream);
  expect_refused_by_name<PreparedAmaxGrouped>(group, Sides::both, stream);
  expect_refused_by_name<PreparedAmaxGrouped>(tensors, Sides::both, stream);
  expect_refused_by_name<PreparedAmaxGrouped>(std::span<const Tensor>(), result, false, stream);
  expect_refused_by_name<PreparedArrangeScales>(scales, scales, stream);
  expect_refused_by_name<PreparedComputeFp4Scales>(x, result, out, stream);
  expect_refused_by_name<PreparedDequantizeMx>(q, out, stream);
  expect_refused_by_name<PreparedDequantizeNvfp4>(q, out, stream);
  expect_refused_by_name<PreparedDequantizeNvfp4>(x, x, result, out, stream);
  expect_refused<PreparedDescribeGroup>("an op", x, group, "an op", stream);
  expect_refused_by_name<PreparedFp4FakeQuantBlock>(x, result, out, stream);
  expect_refused_by_name<PreparedGemmCublaslt>(q, q, out, GemmNvfp4Options{}, stream);
  expect_refused_by_name<PreparedGemmNvfp4>(q, q, out, GemmNvfp4Options{}, stream);
  expect_refused_by_name<PreparedGemmNvfp4>(group, group, out, GemmNvfp4Options{}, stream);
  expect_refused_by_name<PreparedQuantizeMx>(x, q, stream);
  expect_refused_by_name<PreparedQuantizeMxGrouped>(x, group, stream);
  expect_refused_by_name<PreparedQuantizeMxGrouped>(tensors, stream);
  expect_refused_by_name<PreparedQuantizeNvfp4>(x, q, stream);
  expect_refused_by_name<PreparedQuantizeNvfp4Grouped>(x, group, stream);
  expect_refused_by_name<PreparedQuantizeNvfp4Grouped>(tensors, stream);
  expect_refused_by_name<PreparedQuantizeNvfp4>(x, q, stream);
  expect_refused_by_name<PreparedStaticFp4FakeQuant>(x, x, result, out, stream);
  expect_refused_by_name<PreparedTransposeCodes>(result, 0, 0, result, stream);
  expect_refused_by_name<PreparedTransposeNvfp4>(q, stream);
  expect_refused<PreparedMasterCast>("cast_master_weights", result, stream);
  expect_refused<PreparedPostAllGather>("post_all_gather_processing", stream);
  EXPECT_EQ(PreparedMasterCast().scratch_bytes(), 0);
}

TEST(NotPrepared, NorIsAnOpThatWasMovedFrom) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const testing::Matrices m(*device, 64, 4096);
  for (const bool amax_given : {false, true}) {
    auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {.amax_given = amax_given}).value();
    const PreparedQuantizeNvfp4 kept = std::move(op);
    EXPECT_TRUE(kept.run(m.x, m.out, {}));
    // What was moved from has its request still.
    const auto ran = op.run(m.x, m.out, {});  // NOLINT(bugprone-use-after-move)
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().message(), message("quantize_nvfp4"));
  }
}

}  // namespace
}  // namespace diecast
