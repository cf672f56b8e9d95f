// The reference vectors of tests/golden through the scalar reference: both must be right for this
// to pass, and a wrong bit anywhere must not.
#include <checkpoint/vectors_fixture.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

using testing::check_file;
using testing::check_small;
using testing::fault_of;
using testing::floats;
using testing::reference_vector_kernels;
using testing::small;
using testing::TestFile;
using State = CaseResult::State;

std::string golden(const std::string& name) {
  return DIECAST_SOURCE_DIR "/tests/golden/" + name + ".safetensors";
}

TEST(Vectors, EveryCaseOfTransformerEnginePassesToTheBit) {
  const auto report = check_file(golden("nvfp4_te"));
  ASSERT_TRUE(report) << report.error().message();
  std::size_t under_te_ref = 0;
  for (const CaseResult& one : report->cases) {
    EXPECT_EQ(one.state, State::passed) << one.name << " " << one.reason;
    under_te_ref += one.name.find(", te_ref") != std::string::npos;
  }
  EXPECT_EQ(report->cases.size(), 132u + under_te_ref);
  EXPECT_EQ(under_te_ref, 84u);  // all but those of four over six
}

TEST(Vectors, EveryCaseOfTheOtherNvfp4ProfilesPassesToTheBit) {
  for (const auto& [name, cases] : std::map<std::string, std::size_t>{
           {"nvfp4_pr546", 50}, {"nvfp4_modelopt", 15}, {"nvfp4_torchao", 16}}) {
    const auto report = check_file(golden(name));
    ASSERT_TRUE(report) << report.error().message();
    for (const CaseResult& one : report->cases) {
      EXPECT_EQ(one.state, State::passed)
          << name << " " << one.name << ": " << one.differing << " differ, the first in "
          << (one.differences.empty() ? "" : one.differences[0].tensor);
    }
    EXPECT_EQ(report->cases.size(), cases);
  }
}

TEST(Vectors, EveryCaseOfTheMxFormatsAndOfFakeQuantizationPasses) {
  for (const auto& [name, cases] :
       std::map<std::string, std::size_t>{{"mx_torchao", 120}, {"fakequant_modelopt", 15}}) {
    const auto report = check_file(golden(name));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->count(State::passed), cases) << name;
    EXPECT_EQ(report->cases.size(), cases);
  }
}

// Makes `count` elements that dynamic fake quantization leaves 0 one step, or `steps`, larger.
VectorKernels off_by(int count, int steps) {
  VectorKernels kernels = reference_vector_kernels();
  kernels.fake_quantize = [left = count,
                           steps](const FakeVectorInput& in) mutable -> Result<Bytes> {
    Bytes out = testing::reference_fake(in);
    for (std::int64_t i = 0; in.block_amax.empty() && i < in.rows * in.cols && left > 0; ++i) {
      if (reference::load(out.data(), in.dtype, i) != 0.0f) continue;
      const float step = 0.5f * testing::reference_fake_scale(in, i);
      reference::store(out.data(), in.dtype, i, step * static_cast<float>(steps));
      --left;
    }
    return out;
  };
  return kernels;
}

TEST(Vectors, DynamicFakeQuantizationMayBeOneStepOffInOneOfAThousand) {
  const auto failed = [](const VectorKernels& kernels) {
    return check_file(golden("fakequant_modelopt"), kernels).value().count(State::failed);
  };
  // One of the file's 13,216 elements is off as it is.
  EXPECT_EQ(failed(off_by(12, 1)), 0u);
  EXPECT_GT(failed(off_by(13, 1)), 0u);
  EXPECT_EQ(failed(off_by(1, 2)), 1u);
}

TEST(Vectors, DifferencesAreCountedAndTheFirstOnesShown) {
  EXPECT_EQ(check_small(small()).value().count(State::passed), 2u);
  TestFile file = small();
  file.tensors["c0/data"].bytes[3] = 0x11;
  file.tensors["c0/scale"].bytes[1] = 0x39;
  file.tensors["c0/amax"] = floats({1}, {2689});
  const auto report = check_small(file).value();
  ASSERT_EQ(report.count(State::failed), 2u);
  EXPECT_EQ(report.cases[1].name, "c0, te_ref");
  EXPECT_EQ(report.cases[1].differing, 3u);
  const CaseResult& one = report.cases[0];
  EXPECT_EQ(one.differing, 3u);
  ASSERT_EQ(one.differences.size(), 3u);
  EXPECT_EQ(one.differences[0].tensor, "amax");
  EXPECT_EQ(one.differences[0].expected, 0x45281000u);
  EXPECT_EQ(one.differences[0].got, 0x45280000u);
  EXPECT_EQ(one.differences[1].tensor, "scale");
  EXPECT_EQ(one.differences[1].index, 1u);
  EXPECT_EQ(one.differences[2].tensor, "data");
  EXPECT_EQ(one.differences[2].index, 3u);
  EXPECT_EQ(one.differences[2].expected, 0x11u);
  EXPECT_EQ(one.differences[2].got, 0u);
}

TEST(Vectors, ListOfDifferencesIsCut) {
  TestFile file = small();
  file.tensors["c0/data"].bytes = std::string(16, '\x33');
  const CaseResult one = check_small(file).value().cases[0];
  EXPECT_EQ(one.differing, 16u);
  EXPECT_EQ(one.differences.size(), 8u);
}

TEST(Vectors, EveryWrongBitFailsItsCase) {
  for (const std::string name : {"c0/data", "c0/scale", "c0/amax"}) {
    for (std::size_t bit = 0; bit < small().tensors[name].bytes.size() * 8; ++bit) {
      TestFile file = small();
      file.tensors[name].bytes[bit / 8] =
          static_cast<char>(file.tensors[name].bytes[bit / 8] ^ 1 << bit % 8);
      EXPECT_EQ(check_small(file).value().count(State::failed), 2u) << name << " " << bit;
    }
  }
}

TEST(Vectors, RowScaledCaseHasAnAmaxARow) {
  TestFile file = small();
  file.metadata["cases"] = R"([{"name":"c0","shape":[2,16],"dtype":"f32","row_scaled":true}])";
  file.tensors["c0/amax"] = floats({2}, {2688, 6});
  file.tensors["c0/scale"].bytes = "\x7E\x7E";
  EXPECT_EQ(check_small(file).value().count(State::passed), 2u);
  file.tensors["c0/amax"] = floats({1}, {2688});
  EXPECT_EQ(fault_of(file), "file_corrupt: tensor \"c0/amax\" is F32 of 4 bytes, not F32 of 8");
}

// The sign is what tells the profiles apart: each must have its own.
TEST(Vectors, NegativeZerosHaveASignUnderTeAndNoneUnderTeRef) {
  TestFile file = small();
  std::vector<float> x(32, 0.0f);
  x[0] = 2688, x[16] = 6, x[1] = -0.0f, x[18] = -0.0f;
  file.tensors["c0/x"] = floats({2, 16}, x);
  file.tensors["c0/data"].bytes[0] = static_cast<char>(0x87);
  file.tensors["c0/data"].bytes[9] = 0x08;
  EXPECT_EQ(check_small(file).value().count(State::passed), 2u);
  VectorKernels kernels = reference_vector_kernels();
  for (const Profile wrong : {Profile::te, Profile::te_ref}) {
    kernels.quantize_nvfp4 = [wrong](Nvfp4VectorInput in) {
      in.type.profile = wrong;
      return reference_vector_kernels().quantize_nvfp4(in);
    };
    const auto report = check_small(file, kernels).value();
    EXPECT_EQ(report.cases[0].state, wrong == Profile::te ? State::passed : State::failed);
    EXPECT_EQ(report.cases[1].state, wrong == Profile::te ? State::failed : State::passed);
  }
}

TEST(Vectors, KernelErrorStopsTheReplay) {
  VectorKernels kernels = reference_vector_kernels();
  kernels.quantize_nvfp4 = [](const Nvfp4VectorInput&) -> Result<Nvfp4VectorOutput> {
    return Error{ErrorCode::no_device, "no device", "use --target host"};
  };
  EXPECT_EQ(code_word(check_small(small(), kernels).error().code), "no_device");
}

}  // namespace
}  // namespace diecast
