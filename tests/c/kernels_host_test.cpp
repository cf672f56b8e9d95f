// Any kernel through the C interface: by name, with sizes from shapes; and what a runtime tells.
#include <filesystem>

#include "c/c_fixture.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;

std::string text_of_names(diecast_handle runtime) {
  diecast_text names{};
  EXPECT_EQ(diecast_template_names(runtime, &names), diecast_ok);
  std::string out(names.needed + 1, '\0');
  names.buffer = out.data();
  names.capacity = out.size();
  EXPECT_EQ(diecast_template_names(runtime, &names), diecast_ok);
  out.resize(names.needed);
  return out;
}

class CKernels : public COnHost {};

TEST_F(CKernels, TellOfTemplates) {
  EXPECT_NE(text_of_names(runtime_).find("\nquantize_nvfp4\n"), std::string::npos);
  diecast_text text{};
  EXPECT_EQ(diecast_template_describe(runtime_, "quantize_nvfp5", &text), diecast_unknown_template);
  std::vector<char> small(8);
  text = {small.data(), small.size(), 0};
  EXPECT_EQ(diecast_template_describe(runtime_, "amax", &text), diecast_ok);
  EXPECT_GT(text.needed, 100u);
  EXPECT_EQ(small, std::vector<char>(8));  // too small: nothing is written
}

const std::string kScaleRows = DIECAST_SOURCE_DIR "/examples/own_template/scale_rows.cu";

diecast_argument tensor(const char* name, const CTensor& of) {
  return {name, DIECAST_TENSOR, of.get(), 0, 0, nullptr};
}
diecast_argument size(const char* name, std::int64_t value) {
  return {name, DIECAST_SIZE, nullptr, value, 0, nullptr};
}

class COwnKernel : public CKernels {
 protected:
  void SetUp() override {
    CKernels::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(diecast_template_add(runtime_, kScaleRows.c_str()), diecast_ok) << last_error();
    ASSERT_EQ(diecast_kernel_prepare(runtime_, host_, "scale_rows T=f32", kernel_.to()), diecast_ok)
        << last_error();
  }
  int launch(const std::vector<diecast_argument>& arguments) {
    return diecast_kernel_launch(kernel_, arguments.data(), arguments.size(), nullptr);
  }
  Handle kernel_;
  std::vector<float> x_ = {1, 2, 3, 4, 5, 6}, factor_ = {10, 100}, out_ = std::vector<float>(6);
  CTensor x{x_, {2, 3}}, factor{factor_, {2}}, out{out_, {2, 3}};
};

TEST_F(COwnKernel, IsLaunchedByNameWithSizesFromItsShapes) {
  ASSERT_EQ(launch({tensor("out", out), tensor("factor", factor), tensor("x", x)}), diecast_ok)
      << last_error();
  EXPECT_EQ(out_, (std::vector<float>{10, 20, 30, 400, 500, 600}));
}

TEST_F(COwnKernel, RefusesWhatDoesNotFit) {
  const auto x_ = tensor("x", x), f = tensor("factor", factor), o = tensor("out", out);
  EXPECT_EQ(launch({x_, f}), diecast_invalid_argument);
  EXPECT_EQ(last_error(),
            "invalid_argument: scale_rows: out: it is not given\n"
            "  fix: give each of these: x, factor, out");
  EXPECT_EQ(launch({x_, f, o, x_}), diecast_invalid_argument);
  EXPECT_EQ(launch({x_, f, o, size("row", 2)}), diecast_invalid_argument);
  EXPECT_EQ(launch({x_, f, size("out", 2)}), diecast_invalid_argument);
  EXPECT_EQ(launch({x_, f, o, size("rows", 3)}), diecast_shape_mismatch);
  factor->shape[0] = 1;
  EXPECT_EQ(launch({x_, f, o}), diecast_shape_mismatch);
  EXPECT_EQ(last_error(),
            "shape_mismatch: scale_rows: factor: it is [1], and rows is 2\n"
            "  fix: pass tensors whose shapes agree");
  factor->shape[0] = 2;
  factor->type_bits = 16;
  EXPECT_EQ(launch({x_, f, o}), diecast_dtype_mismatch);
}

TEST_F(COwnKernel, TakesNoRowsApartForOneRow) {
  std::vector<float> wide = {10, 0, 0, 100};
  CTensor apart{wide, {2, 1}};
  std::int64_t strides[] = {3, 1};
  apart->strides = strides;
  EXPECT_EQ(launch({tensor("x", x), tensor("factor", apart), tensor("out", out)}),
            diecast_shape_mismatch);
  EXPECT_EQ(
      last_error(),
      "shape_mismatch: scale_rows: factor: it is [2, 1] with rows 3 elements apart; the kernel "
      "takes one row\n  fix: pass a contiguous tensor");
}

TEST_F(COwnKernel, RefusesToWriteWhereAnInputLies) {
  const auto f = tensor("factor", factor), o = tensor("out", out);
  x->data = out_.data();
  EXPECT_EQ(launch({tensor("x", x), f, o}), diecast_invalid_argument);
  EXPECT_EQ(last_error(),
            "invalid_argument: scale_rows: out is written and x lies in the same memory\n"
            "  fix: pass memory of its own for each output");
  EXPECT_EQ(out_, std::vector<float>(6));
}

TEST_F(COwnKernel, LooksAtANumberInDeviceMemoryAsAtATensor) {
  const auto x_ = tensor("x", x), f = tensor("factor", factor), o = tensor("out", out);
  const auto launch_with = [&](const diecast_tensor* rows) {
    return launch({x_, f, o, {"rows", DIECAST_DEVICE_SIZE, rows, 2, 0, nullptr}});
  };
  EXPECT_EQ(launch_with(nullptr), diecast_invalid_argument);
  std::vector<std::int64_t> number = {2};
  CTensor rows{number, {1}, 0};
  rows->shape = nullptr;
  EXPECT_EQ(launch_with(rows.get()), diecast_invalid_argument);
  EXPECT_EQ(launch_with(factor.get()), diecast_dtype_mismatch);
}

TEST_F(COwnKernel, IsTunedWithARecordForEachConfiguration) {
  std::vector<std::string> lines;
  const auto keep = [](void* user, const char* line) {
    static_cast<std::vector<std::string>*>(user)->push_back(line);
  };
  ASSERT_EQ(diecast_tune(runtime_, host_, "scale_rows T=f32", "rows=2 cols=3\n", keep, &lines),
            diecast_ok)
      << last_error();
  EXPECT_EQ(lines.size(), 3u);
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  EXPECT_EQ(diecast_tuning_add(runtime_, all.c_str()), diecast_ok) << last_error();
  EXPECT_EQ(diecast_tuning_add(runtime_, "no record"), diecast_parse_error);
  EXPECT_EQ(diecast_tune(runtime_, host_, "scale_rows T=f32", "rows=two", keep, &lines),
            diecast_parse_error);
}

TEST_F(COwnKernel, ComesFromATextToo) {
  const std::string text = testing::text_of(kScaleRows);
  EXPECT_EQ(diecast_template_add_text(runtime_, "scale_rows", text.c_str()), diecast_ok);
  EXPECT_EQ(diecast_template_add_text(runtime_, "scale_rows", (text + "\n").c_str()),
            diecast_file_exists);
  EXPECT_EQ(diecast_template_add_text(runtime_, "no name", text.c_str()), diecast_parse_error);
  diecast_text variants{};
  ASSERT_EQ(diecast_template_variants(runtime_, "scale_rows T=f32", &variants), diecast_ok)
      << last_error();
  std::string all(variants.needed + 1, ' ');
  variants.buffer = all.data();
  variants.capacity = all.size();
  ASSERT_EQ(diecast_template_variants(runtime_, "scale_rows T=f32", &variants), diecast_ok);
  all.pop_back();
  EXPECT_EQ(all,
            "scale_rows T=f32 THREADS=64 @ host\nscale_rows T=f32 THREADS=128 @ host\n"
            "scale_rows T=f32 THREADS=256 @ host\n");
}

constexpr const char* kAdd = R"(/* diecast
size n
arg bias in f32 [n] optional
arg out out f32 [n]
arg n
arg real f64
arg small i8
arg large u64
launch grid(1) block(1)
target host
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = 0; i < n; ++i) {
    out[i] = static_cast<f32>(real) + small + static_cast<f32>(large);
    if constexpr (HAS_BIAS) out[i] += bias[i];
  }
}
)";

TEST_F(CKernels, TakeScalarsOfEveryTypeAndLackOptionalTensors) {
  ASSERT_EQ(diecast_template_add_text(runtime_, "add", kAdd), diecast_ok) << last_error();
  std::vector<float> bias_ = {1, 2}, out_(2);
  CTensor bias{bias_, {2}}, out{out_, {2}};
  const diecast_argument real = {"real", DIECAST_NUMBER, nullptr, 0, 0.5, nullptr};
  const auto integer = [](const char* name, std::int64_t value) {
    return diecast_argument{name, DIECAST_INTEGER, nullptr, value, 0, nullptr};
  };
  for (const bool has : {false, true}) {
    Handle kernel;
    ASSERT_EQ(diecast_kernel_prepare(runtime_, host_, has ? "add" : "add HAS_BIAS=0", kernel.to()),
              diecast_ok)
        << last_error();
    std::vector<diecast_argument> all = {tensor("out", out), real, integer("small", -3),
                                         integer("large", 8)};
    if (has) all.push_back(tensor("bias", bias));
    ASSERT_EQ(diecast_kernel_launch(kernel, all.data(), all.size(), nullptr), diecast_ok)
        << last_error();
    EXPECT_EQ(out_, (has ? std::vector<float>{6.5f, 7.5f} : std::vector<float>{5.5f, 5.5f}));
    all[2].integer = -129;
    EXPECT_EQ(diecast_kernel_launch(kernel, all.data(), all.size(), nullptr),
              diecast_value_not_allowed);
    EXPECT_EQ(last_error(),
              "value_not_allowed: add: small: it is -129\n"
              "  fix: pass an integer from -128 to 127");
    all[2].integer = 0;
    all[3].integer = -1;
    EXPECT_EQ(diecast_kernel_launch(kernel, all.data(), all.size(), nullptr),
              diecast_value_not_allowed);
  }
}

TEST_F(CKernels, AreCountedAndCached) {
  diecast_counters counters{};
  counters.size = sizeof counters;
  diecast_artifact_info info{};
  info.size = sizeof info;
  ASSERT_EQ(diecast_resolve(runtime_, "amax IN=f32 @ host", &info, nullptr), diecast_ok)
      << last_error();
  EXPECT_EQ(info.is_cubin, 0);
  ASSERT_EQ(diecast_resolve(runtime_, "amax IN=f32 @ host", &info, nullptr), diecast_ok);
  EXPECT_EQ(info.origin, DIECAST_FROM_MEMORY);
  ASSERT_EQ(diecast_counters_read(runtime_, &counters), diecast_ok);
  EXPECT_EQ(counters.memory_hits, 1u);
  EXPECT_EQ(counters.compiled + counters.disk_hits, 1u);
  EXPECT_EQ(diecast_resolve(runtime_, "amax IN=f64 @ host", &info, nullptr),
            diecast_value_not_allowed);
  diecast_warm_counts warmed{};
  warmed.size = sizeof warmed;
  ASSERT_EQ(
      diecast_warm(runtime_, "amax IN=f32,bf16 @ host\nop amax in=f32 @ host\n", nullptr, &warmed),
      diecast_ok)
      << last_error();
  EXPECT_GE(warmed.wanted, 2u);
  EXPECT_EQ(warmed.failed, 0u);
}

TEST_F(CKernels, ShowTheirCodeForGpusAlone) {
  diecast_text text{};
  EXPECT_EQ(diecast_ptx(runtime_, "amax IN=f32 @ host", &text), diecast_target_not_supported);
  EXPECT_EQ(diecast_ptx(runtime_, nullptr, &text), diecast_invalid_argument);
  EXPECT_EQ(diecast_sass(runtime_, nullptr, &text), diecast_invalid_argument);
  EXPECT_EQ(diecast_sass(host_, "amax", &text), diecast_invalid_argument);
}

TEST_F(CKernels, ArePutIntoABundle) {
  const testing::TemporaryDirectory folder;
  const std::string file = folder / "kernels.dcb";
  const char* const manifest = "op amax in=f32 @ host";
  EXPECT_EQ(diecast_bundle_create(runtime_, manifest, nullptr, file.c_str(), nullptr), diecast_ok)
      << last_error();
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(diecast_bundle_create(runtime_, nullptr, nullptr, file.c_str(), nullptr),
            diecast_invalid_argument);
  EXPECT_EQ(diecast_bundle_create(runtime_, manifest, nullptr, nullptr, nullptr),
            diecast_invalid_argument);
  EXPECT_EQ(diecast_bundle_create(runtime_, manifest, "host,nothing", file.c_str(), nullptr),
            diecast_unknown_target);
}

TEST_F(CKernels, VerifyAFolderOrSayWhyNot) {
  const testing::TemporaryDirectory folder;
  diecast_text text{};
  EXPECT_EQ(diecast_verify_folder(nullptr, &text), diecast_invalid_argument);
  EXPECT_EQ(diecast_verify_folder((folder / "none").c_str(), &text), diecast_file_not_found);
  EXPECT_NE(last_error().find("none"), std::string::npos);
}

TEST_F(CKernels, PlanAFolderOrSayWhyNot) {
  const testing::TemporaryDirectory folder;
  diecast_text text{};
  diecast_quantize_folder_options options{};
  options.size = sizeof options;
  EXPECT_EQ(diecast_plan_folder(nullptr, &options, &text), diecast_invalid_argument);
  EXPECT_EQ(diecast_plan_folder((folder / "none").c_str(), nullptr, &text), diecast_file_not_found);
  options.format = "fp5";
  EXPECT_EQ(diecast_plan_folder("none", &options, &text), diecast_value_not_allowed);
  EXPECT_NE(last_error().find("nvfp4, nvfp4-w4a16, mxfp8, mxfp4"), std::string::npos);
  options.format = nullptr;
  options.size = 8;  // of before any option
  EXPECT_EQ(diecast_plan_folder("none", &options, &text), diecast_file_not_found);
}

TEST_F(CKernels, QuantizeAFileOrSayWhyNot) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(diecast_quantize_folder(runtime_, host_, (folder / "none.safetensors").c_str(),
                                    (folder / "out.safetensors").c_str(), nullptr, nullptr),
            diecast_file_not_found);
  EXPECT_EQ(diecast_quantize_folder(runtime_, host_, nullptr, "x", nullptr, nullptr),
            diecast_invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.safetensors"));
}

}  // namespace
}  // namespace diecast
