// What path cublaslt tells cuBLASLt of a product, attribute by attribute, and what it launches
// around it: a fake library and a fake GPU, so arguments alone. The numbers of the attributes and
// types stand here once more as NVIDIA's manual has them.
#include "ops/gemm_cublaslt.h"

namespace diecast {
namespace {

using testing::FakeAttributes;
using testing::FakeLayout;
using testing::FakeProduct;

constexpr int kLibraryE2m1 = 33, kLibraryBf16 = 14, kLibraryF32 = 0, kLibraryCompute = 68;

float value_on_host(const void* at) {
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

class CublasLtArguments : public GemmByCublasLt {
 protected:
  CublasLtArguments() {
    machine_.cuda->parameters["product_factor"] = {8, 8, 8, 8, 4, 4};
    machine_.cuda->parameters["finish_product"] = {8, 8, 8, 8, 8, 8, 8, 4, 4};
  }
  // The one product of a call that is expected to work.
  FakeProduct product(Stream stream = {}) {
    EXPECT_EQ(outcome(stream), "ok");
    if (library_->products.size() != 1u) return {};
    const FakeProduct made = library_->products.front();
    library_->products.clear();
    return made;
  }
  // Pointers in the parameters of a launch.
  const void* pointer(std::size_t launch, std::size_t argument) {
    return machine_.cuda->launches.at(launch).argument<const void*>(argument);
  }
};

TEST_F(CublasLtArguments, OfAPlainProduct) {
  const Stream stream = device_->create_stream().value();
  const FakeProduct made = product(stream);
  EXPECT_EQ(made.context, testing::FakeCublasLt::context());
  EXPECT_EQ(made.stream, stream.handle);
  EXPECT_EQ(made.operation.compute, kLibraryCompute);
  EXPECT_EQ(made.operation.factors, kLibraryF32);
  // Columns first: A is the weight [64, 24], transposed; B the activation [64, 8]; D out [24, 8].
  EXPECT_EQ(made.a, b_.rowwise.data);
  EXPECT_EQ(made.b, a_.rowwise.data);
  EXPECT_EQ(made.a_layout, (FakeLayout{kLibraryE2m1, 64, 24, 64}));
  EXPECT_EQ(made.b_layout, (FakeLayout{kLibraryE2m1, 64, 8, 64}));
  EXPECT_EQ(made.c_layout, (FakeLayout{kLibraryBf16, 24, 8, 24}));
  EXPECT_EQ(made.d_layout, made.c_layout);
  EXPECT_EQ(made.c, out_.data);
  EXPECT_EQ(made.d, out_.data);
  const FakeAttributes& said = made.operation.attributes;
  EXPECT_EQ(said.size(), 7u);
  EXPECT_EQ(said.value<std::int32_t>(2), 1);   // factors in device memory
  EXPECT_EQ(said.value<std::int32_t>(3), 1);   // A transposed
  EXPECT_EQ(said.value<std::int32_t>(4), 0);   // B not
  EXPECT_EQ(said.value<std::int32_t>(31), 1);  // scales of A: VEC16_UE4M3
  EXPECT_EQ(said.value<std::int32_t>(32), 1);  // of B
  EXPECT_EQ(said.value<const void*>(17), b_.rowwise.scale);
  EXPECT_EQ(said.value<const void*>(18), a_.rowwise.scale);
  // Factors first in the scratch, the workspace behind them.
  EXPECT_EQ(made.alpha, at_scratch(0));
  EXPECT_EQ(made.beta, at_scratch(4));
  EXPECT_EQ(made.workspace, at_scratch(256));
  EXPECT_EQ(made.workspace_bytes, static_cast<std::size_t>(kScratch - 256));
}

TEST_F(CublasLtArguments, AlphaIsMadeOfBothAmaxesOnTheDevice) {
  options_.alpha = 0.75f;
  b_.type.e4m3_bound = 256;
  const Stream stream = device_->create_stream().value();
  product(stream);
  ASSERT_EQ(launched(), (Words{"product_factor"}));
  const auto& launch = machine_.cuda->launches[0];
  EXPECT_EQ(launch.stream, stream.handle);
  EXPECT_EQ(pointer(0, 0), a_.rowwise.amax);
  EXPECT_EQ(pointer(0, 1), b_.rowwise.amax);
  EXPECT_EQ(pointer(0, 2), at_scratch(0));
  EXPECT_EQ(launch.argument<std::int64_t>(3), 1);
  EXPECT_EQ(launch.argument<float>(4), 0.75f);
  EXPECT_EQ(launch.argument<float>(5), 1.0f / (36 * 448 * 256));
}

TEST_F(CublasLtArguments, TheHeuristicsAreAskedForTheSameProductWithWhatItMayTake) {
  b_.rowwise.data = static_cast<std::uint8_t*>(b_.rowwise.data) + 32;
  b_.rowwise.data_bytes -= 32, b_.shape = Shape{16, 64}, out_.shape = Shape{8, 16};
  library_->algorithm = 77;
  const FakeProduct made = product();
  EXPECT_EQ(made.algorithm, 77u);
  ASSERT_EQ(library_->heuristics.size(), 1u);
  const FakeProduct& asked = library_->heuristics[0];
  EXPECT_EQ(asked.context, made.context);
  EXPECT_EQ(asked.wanted, 1);
  EXPECT_EQ(asked.operation.attributes, made.operation.attributes);
  EXPECT_EQ(asked.a_layout, made.a_layout);
  EXPECT_EQ(asked.b_layout, made.b_layout);
  EXPECT_EQ(asked.c_layout, made.c_layout);
  EXPECT_EQ(asked.d_layout, made.d_layout);
  EXPECT_EQ(asked.preference.size(), 5u);
  EXPECT_EQ(asked.preference.value<std::uint64_t>(1), made.workspace_bytes);
  EXPECT_EQ(asked.preference.value<std::uint32_t>(5), 32u);   // A, the weight
  EXPECT_EQ(asked.preference.value<std::uint32_t>(6), 256u);  // B
  EXPECT_EQ(asked.preference.value<std::uint32_t>(7), 256u);  // C
  EXPECT_EQ(asked.preference.value<std::uint32_t>(8), 256u);  // D
}

TEST_F(CublasLtArguments, EachLayoutLetterReadsItsSide) {
  options_.layout = "NN";
  b_ = tiled(64, 24);
  FakeProduct made = product();
  EXPECT_EQ(made.a, b_.columnwise.data);
  EXPECT_EQ(made.b, a_.rowwise.data);
  EXPECT_EQ(made.operation.attributes.value<const void*>(17), b_.columnwise.scale);
  EXPECT_EQ(pointer(0, 1), b_.columnwise.amax);
  options_.layout = "NT";
  a_ = tiled(64, 8);
  made = product();
  EXPECT_EQ(made.b, a_.columnwise.data);
  EXPECT_EQ(made.operation.attributes.value<const void*>(18), a_.columnwise.scale);
  EXPECT_EQ(pointer(1, 0), a_.columnwise.amax);
  EXPECT_EQ(made.a_layout, (FakeLayout{kLibraryE2m1, 64, 24, 64}));
  EXPECT_EQ(made.b_layout, (FakeLayout{kLibraryE2m1, 64, 8, 64}));
}

// The f32 sums of a factor of 1, then one pass: under the row's and the column's scale, to bf16.
TEST_F(CublasLtArguments, OfRowScales) {
  a_ = tiled(8, 64, true);
  options_.alpha = 0.5f;
  float alpha = 0, beta = -1;
  library_->on_multiply = [&](const FakeProduct& now) {
    alpha = value_on_host(now.alpha), beta = value_on_host(now.beta);
    EXPECT_TRUE(machine_.cuda->launches.empty()) << "finished before it is made";
  };
  const Stream stream = device_->create_stream().value();
  const FakeProduct made = product(stream);
  EXPECT_EQ(made.operation.attributes.value<std::int32_t>(2), 0);  // factors on the host
  EXPECT_EQ(alpha, 1.0f);
  EXPECT_EQ(beta, 0.0f);
  EXPECT_EQ(made.d_layout, (FakeLayout{kLibraryF32, 24, 8, 24}));
  EXPECT_EQ(made.c_layout, made.d_layout);
  EXPECT_EQ(made.d, at_scratch(0));
  EXPECT_EQ(made.c, at_scratch(0));
  EXPECT_EQ(made.workspace, at_scratch(8 * 24 * 4));
  EXPECT_EQ(made.workspace_bytes, static_cast<std::size_t>(kScratch - 8 * 24 * 4));
  ASSERT_EQ(launched(), (Words{"finish_product"}));
  const auto& launch = machine_.cuda->launches[0];
  EXPECT_EQ(launch.stream, stream.handle);
  const void* const wanted[] = {at_scratch(0), a_.rowwise.amax, b_.rowwise.amax, nullptr,
                                out_.data};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(pointer(0, i), wanted[i]) << i;
  EXPECT_EQ(launch.argument<std::int64_t>(5), 8);
  EXPECT_EQ(launch.argument<std::int64_t>(6), 24);
  EXPECT_EQ(launch.argument<float>(7), 0.5f);
  EXPECT_EQ(launch.argument<float>(8), 1.0f / (36 * 448 * 448));
}

TEST_F(CublasLtArguments, SumsStandInAnF32OutputThatTheyAreNotAddedTo) {
  out_.dtype = DType::f32;
  options_.bias = bias(24, DType::bf16);
  options_.scratch = nullptr, options_.scratch_bytes = 0;
  FakeProduct made = product();
  EXPECT_EQ(made.d, out_.data);
  EXPECT_EQ(made.workspace, nullptr);
  EXPECT_EQ(made.workspace_bytes, 0u);
  EXPECT_EQ(library_->heuristics[0].preference.value<std::uint64_t>(1), 0u);
  EXPECT_EQ(pointer(0, 0), nullptr);
  EXPECT_EQ(pointer(0, 3), options_.bias->data);
  EXPECT_EQ(pointer(0, 4), out_.data);
  options_.accumulate = true;
  options_.scratch = at_256(kScratch), options_.scratch_bytes = kScratch;
  made = product();
  EXPECT_EQ(made.d, options_.scratch);
  EXPECT_EQ(pointer(1, 0), options_.scratch);
  EXPECT_EQ(pointer(1, 4), out_.data);
}

TEST_F(CublasLtArguments, WhatItDoesNotWriteItselfIsOnePassMore) {
  const auto names_of = [&](DType out, bool biased, bool accumulate) {
    machine_.cuda->launches.clear();
    out_.dtype = out;
    options_.accumulate = accumulate;
    options_.bias.reset();
    if (biased) options_.bias = bias(24);
    product();
    return launched();
  };
  EXPECT_EQ(names_of(DType::bf16, false, false), (Words{"product_factor"}));
  EXPECT_EQ(names_of(DType::f32, false, false), (Words{"product_factor"}));
  EXPECT_EQ(names_of(DType::f16, false, false), (Words{"finish_product"}));
  EXPECT_EQ(names_of(DType::bf16, true, false), (Words{"finish_product"}));
  EXPECT_EQ(names_of(DType::bf16, false, true), (Words{"finish_product"}));
}

TEST_F(CublasLtArguments, OtherLibrariesWorkInTheDevicesContext) {
  std::vector<std::uint64_t> seen;
  library_->on_multiply = [&](const FakeProduct&) {
    cuda::ContextHandle* current = nullptr;
    machine_.cuda.driver()->cuCtxGetCurrent(&current);
    seen.push_back(current != nullptr);
  };
  product();
  machine_.cuda.make_current(nullptr);
  product();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 1}));
  cuda::ContextHandle* current = nullptr;
  machine_.cuda.driver()->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CublasLtArguments, NothingIsEnqueuedForAnOutputWithoutElements) {
  a_ = tiled(0, 64);
  out_.shape = Shape{0, 24};
  EXPECT_EQ(outcome(), "ok");
  EXPECT_TRUE(library_->products.empty());
  EXPECT_TRUE(machine_.cuda->launches.empty());
}

TEST_F(CublasLtArguments, APreparedProductTakesWhatItWasPreparedFor) {
  const auto request = PreparedGemmCublaslt::Request::of(a_, b_, out_, options_);
  const auto op = PreparedGemmCublaslt::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(op.scratch_bytes(8, 24), 256 + (32 << 20));
  op.run(a_, b_, out_, options_, {}).value();
  EXPECT_EQ(library_->products.size(), 1u);
  a_ = tiled(8, 64, true);
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: not_supported: gemm_nvfp4: path cublaslt: prepared for "
            "a_row_scale = false; the product has a_row_scale = true\n"
            "  fix: prepare another op for this input");
  const auto scaled = PreparedGemmCublaslt::Request::of(a_, b_, out_, options_);
  EXPECT_EQ(scaled.scratch_bytes(8, 24), 8 * 24 * 4 + (32 << 20));
  constexpr std::int64_t kMost =
      std::numeric_limits<std::int64_t>::max();  // and more than there is
  EXPECT_EQ(scaled.scratch_bytes(std::int64_t{1} << 31, std::int64_t{1} << 30), kMost);
  EXPECT_EQ(scaled.needed_bytes(kMost, 1), kMost);
}

}  // namespace
}  // namespace diecast
