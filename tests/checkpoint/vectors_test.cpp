// The reference vectors of tests/golden through the scalar reference: both must be right for this
// to pass, and a wrong bit anywhere must not.
#include <checkpoint/checkpoint_files.h>
#include <checkpoint/reference_vector_kernels.h>
#include <diecast/checkpoint/vectors.h>
#include <gtest/gtest.h>
#include <temporary_directory.h>

namespace diecast {
namespace {

using testing::encode;
using testing::floats;
using testing::reference_vector_kernels;
using testing::TemporaryDirectory;
using testing::TestFile;
using testing::write_text;
using State = CaseResult::State;

std::string golden(const std::string& name) {
  return DIECAST_SOURCE_DIR "/tests/golden/" + name + ".safetensors";
}

Result<VectorReport> check_file(const std::string& path,
                                const VectorKernels& kernels = reference_vector_kernels()) {
  DIECAST_TRY(const SafetensorsReader reader, SafetensorsReader::open(path));
  return check_vectors(reader, kernels);
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

TestFile small() {
  TestFile file;
  file.metadata = {
      {"title", "Transformer Engine, small"},
      {"cases", R"([{"name":"c0","shape":[2,16],"dtype":"f32","dist":"by hand","seed":1}])"}};
  std::vector<float> x(32, 0.0f);
  x[0] = 2688, x[16] = 6;
  std::string data(16, '\0');
  data[0] = 7, data[8] = 7;
  file.tensors = {{"c0/x", floats({2, 16}, x)},
                  {"c0/data", {"U8", {2, 8}, data}},
                  {"c0/scale", {"U8", {2, 1}, "\x7E\x38"}},
                  {"c0/amax", floats({1}, {2688})}};
  return file;
}

Result<VectorReport> check_small(const TestFile& file,
                                 const VectorKernels& kernels = reference_vector_kernels()) {
  TemporaryDirectory folder;
  write_text(folder / "v", encode(file));
  auto report = check_file(folder / "v", kernels);
  if (report) return report;
  Error error = report.error();
  if (const std::size_t at = error.what.find(": "); at != std::string::npos)
    error.what = error.what.substr(at + 2);
  return error;
}

std::string what(const TestFile& file) {
  const auto report = check_small(file);
  return report ? "" : std::string(code_word(report.error().code)) + ": " + report.error().what;
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
  EXPECT_EQ(what(file), "file_corrupt: tensor \"c0/amax\" is F32 of 4 bytes, not F32 of 8");
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
      in.profile = wrong;
      return reference_vector_kernels().quantize_nvfp4(in);
    };
    const auto report = check_small(file, kernels).value();
    EXPECT_EQ(report.cases[0].state, wrong == Profile::te ? State::passed : State::failed);
    EXPECT_EQ(report.cases[1].state, wrong == Profile::te ? State::failed : State::passed);
  }
}

TEST(Vectors, UnknownTitleAndOptionFail) {
  TestFile file = small();
  file.metadata["title"] = "Another Engine";
  EXPECT_EQ(what(file), "not_supported: title \"Another Engine\" names no profile that is known");
  const auto with = [](const std::string& option) {
    TestFile changed = small();
    changed.metadata["cases"] = R"([{"name":"c0","shape":[2,16],"dtype":"f32",)" + option + "}]";
    return what(changed);
  };
  EXPECT_EQ(with(R"("swizzle":true)"),
            "not_supported: case \"c0\": option \"swizzle\" = \"true\" is not known for te");
  EXPECT_EQ(with(R"("per_tensor":true)"),
            "not_supported: case \"c0\": option \"per_tensor\" = \"true\" is not known for te");
  EXPECT_EQ(with(R"("tile":[32,32])"),
            "not_supported: case \"c0\": option \"tile\" = \"[32,32]\" is not known for te");
  EXPECT_EQ(with(R"("row_scaled":1)"),
            "not_supported: case \"c0\": option \"row_scaled\" = \"1\" is not known for te");
  EXPECT_EQ(with(R"("four_over_six":true,"err_mode":"MAX")"),
            "not_supported: case \"c0\": option \"err_mode\" = \"MAX\" is not known for te");
  EXPECT_EQ(with(R"("tile":[1,16])"), "");
}

TEST(Vectors, BrokenFileIsAnError) {
  TestFile file = small();
  file.tensors.erase("c0/scale");
  EXPECT_EQ(what(file), "file_corrupt: tensor \"c0/scale\" is missing");
  const auto with = [](const std::string& cases) {
    TestFile changed = small();
    changed.metadata["cases"] = cases;
    return what(changed);
  };
  EXPECT_EQ(with("{}"), "file_corrupt: the metadata's cases are no JSON list");
  EXPECT_EQ(with("[1]"), "file_corrupt: a case is no JSON object");
  for (const char* text :
       {R"([{"shape":[1],"dtype":"f32"}])", R"([{"name":"","shape":[],"dtype":"f32"}])"}) {
    EXPECT_EQ(with(text),
              "file_corrupt: case \"\" lacks a name, a shape or a dtype of f32, f16, bf16");
  }
  for (const char* text : {R"([{"name":"c","shape":[-1],"dtype":"f32"}])",
                           R"([{"name":"c","shape":[1.5],"dtype":"f32"}])",
                           R"([{"name":"c","shape":[1],"dtype":"u8"}])",
                           R"([{"name":"c","shape":16,"dtype":"f32"}])"}) {
    EXPECT_EQ(with(text),
              "file_corrupt: case \"c\" lacks a name, a shape or a dtype of f32, f16, bf16");
  }
  EXPECT_EQ(with(R"([{"name":"c0","shape":[4294967296,4294967296],"dtype":"f32"}])"),
            "file_corrupt: case \"c0\", shape [4294967296, 4294967296]: more elements than 64 bits "
            "count");
  EXPECT_EQ(with(R"([{"name":"c0","shape":[0,4611686018427387904],"dtype":"f32"}])"),
            "file_corrupt: case \"c0\", shape [0, 4611686018427387904]: the limit is 268435456 "
            "elements");
  EXPECT_EQ(with(R"([{"name":"c0","shape":[4,16],"dtype":"f32"}])"),
            "file_corrupt: tensor \"c0/x\" is F32 of 128 bytes, not F32 of 256");
  file = small();
  file.metadata.erase("title");
  EXPECT_EQ(what(file),
            "file_corrupt: its metadata has no title and cases: these are no reference vectors");
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
