// The command: what it prints, its exit codes, and that a failure leaves nothing behind.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_files.h"
#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::kSource;
using testing::ToolRun;
using testing::tree;

TEST(Tool, DoctorNamesEveryPartAndAFixForWhatIsMissing) {
  ToolRun diecast;
  const auto run = diecast({"doctor"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.output.find("--   CUDA driver"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("fix: "), std::string::npos);
  EXPECT_NE(run.output.find("ok   NVRTC         NVRTC 13.0"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("no   run on a GPU"), std::string::npos);
  const auto json = nlohmann::json::parse(diecast({"doctor", "--json"}).output);
  EXPECT_EQ(json.at(0).at("part"), "CUDA driver");
  EXPECT_EQ(json.at(0).at("works"), false);
}

TEST(Tool, ListsShowsAndEnumeratesTemplates) {
  ToolRun diecast;
  const std::string list = diecast({"list"}).output;
  EXPECT_NE(list.find("quantize_nvfp4_row_scaled"), std::string::npos);
  EXPECT_NE(list.find("  the largest absolute value of a row-major [rows, cols] matrix\n"),
            std::string::npos)
      << list;
  const auto shown = diecast({"show", "quantize_nvfp4"}).output;
  for (const char* word : {"THREADS", "must be given", "[rows, cols]", "whole warps", "sm_80"}) {
    EXPECT_NE(shown.find(word), std::string::npos) << word;
  }
  const auto variants = diecast({"variants", "quantize_nvfp4", "COLS=4096", "IN=bf16"}).output;
  EXPECT_EQ(variants.find("quantize_nvfp4 COLS=4096 ROWS=dense "), 0u) << variants;
  EXPECT_NE(variants.find(" IN=bf16 BLOCK=16 PROFILE=te "), std::string::npos) << variants;
  EXPECT_NE(variants.find(" THREADS=128 @ sm_90a\n"), std::string::npos) << variants;
}

// A length that is no multiple of a block is for the kernels that take any.
TEST(Tool, VariantsOfAnyLengthAreThoseThatTakeAnyRows) {
  ToolRun diecast;
  const std::string variants = diecast({"variants", "quantize_nvfp4", "COLS=4100"}).output;
  EXPECT_NE(variants.find("ROWS=any"), std::string::npos);
  EXPECT_EQ(variants.find("ROWS=dense"), std::string::npos);
  const auto compiled =
      diecast({"compile", "quantize_nvfp4", "COLS=4100", "IN=bf16", "@", "sm_90a"});
  EXPECT_EQ(compiled.exit_code, 1);
  EXPECT_NE(
      compiled.errors.find("COLS = 4100 is no multiple of 16\n  fix: the nearest COLS that fit "
                           "are 4096 and 4112; or ROWS = any\n"),
      std::string::npos)
      << compiled.errors;
}

TEST(Tool, VariantsThatCannotBeAreAnError) {
  ToolRun diecast;
  const auto none = diecast({"variants", "quantize_nvfp4", "PROFILE=pr546", "FOUR_OVER_SIX=mae"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.output, "");
  EXPECT_EQ(
      none.errors,
      "diecast: constraint_violated: quantize_nvfp4 has no variant with PROFILE=pr546 "
      "FOUR_OVER_SIX=mae for sm_90a\n"
      "  fix: `diecast show quantize_nvfp4` lists what it requires; of integers without a set "
      "only the values of its `sample` line are tried\n");
  EXPECT_EQ(diecast({"variants", "amax", "IN=bf16", "IN=f16"}).errors,
            "diecast: parse_error: IN is set twice\n  fix: write one IN=\n");
}

TEST(Tool, VariantsSayForWhichTargetsATemplateIs) {
  ToolRun diecast;
  const std::string own = diecast.folder / "k.cu";
  testing::write_text(
      own, "/* diecast\nlaunch grid(1) block(32)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ(diecast({"variants", "k", "--add", own, "--target", "host"}).errors,
            "diecast: target_not_supported: k does not exist for host\n"
            "  fix: name one of its targets with --target: sm_80+\n");
  EXPECT_EQ(diecast({"variants", "k", "--add", own}).output, "k @ sm_90a\n");
}

TEST(Tool, ComparingWhatHasNothingInCommonFails) {
  ToolRun diecast;
  const std::string a = diecast.folder / "a.safetensors", b = diecast.folder / "b.safetensors";
  testing::TestFile one, other;
  one.tensors["x"] = {"F32", {2}, std::string(8, 'a')};
  other.tensors["y"] = {"F32", {2}, std::string(8, 'a')};
  testing::write_text(a, testing::encode(one));
  testing::write_text(b, testing::encode(other));
  const auto apart = diecast({"compare", a, b});
  EXPECT_EQ(apart.exit_code, 1);
  EXPECT_NE(apart.output.find("\nnothing in one file can be compared with anything in the other\n"),
            std::string::npos)
      << apart.output;
  EXPECT_EQ(diecast({"compare", a, "--json", b}).exit_code, 1);
  EXPECT_EQ(diecast({"compare", a, a}).exit_code, 0);
}

// A checkpoint and its quantized form, say, whose norms alone have the same type.
TEST(Tool, ComparingFailsWhereATensorHasNoCounterpart) {
  ToolRun diecast;
  const std::string a = diecast.folder / "a.safetensors", b = diecast.folder / "b.safetensors";
  testing::TestFile one, other;
  one.tensors = {{"norm", testing::floats({2}, {1, 2})}, {"x", testing::floats({2}, {1, 2})}};
  other.tensors = {{"norm", testing::floats({2}, {1, 2})}, {"x", {"U8", {2}, "ab"}}};
  testing::write_text(a, testing::encode(one));
  testing::write_text(b, testing::encode(other));
  const auto run = diecast({"compare", a, b});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.output,
            "tensor  largest error  mean error  signal to noise, dB\n"
            "norm                                                    identical\n"
            "x                                                       F32 [2] and U8 [2]\n"
            "the values that both have: largest error 0.000e+00, mean 0.000e+00, signal to noise "
            "exact\n"
            "1 of 2 tensors cannot be compared, see above; a quantized file is compared after "
            "`diecast dequantize`\n");
  EXPECT_EQ(diecast({"compare", a, b, "--json"}).exit_code, 1);
  other.tensors["x"] = one.tensors["x"] = {"U8", {2}, "ab"};
  one.tensors.erase("norm"), other.tensors.erase("norm");
  one.tensors["x"].bytes = "cd";
  testing::write_text(a, testing::encode(one));
  testing::write_text(b, testing::encode(other));
  const auto bytes = diecast({"compare", a, b});
  EXPECT_EQ(bytes.exit_code, 0);
  EXPECT_TRUE(bytes.output.ends_with("\nno floating-point value is in both\n")) << bytes.output;
}

TEST(Tool, ComparingSaysWhatIsNotFiniteAndCallsItNotExact) {
  ToolRun diecast;
  const std::string a = diecast.folder / "a.safetensors", b = diecast.folder / "b.safetensors";
  testing::TestFile zeros, nan;
  const std::vector<float> lost(2, std::numeric_limits<float>::quiet_NaN());
  zeros.tensors = {{"all", testing::floats({2}, {0, 0})}, {"some", testing::floats({2}, {1, 3})}};
  nan.tensors = {{"all", testing::floats({2}, lost)}, {"some", testing::floats({2}, {1, lost[0]})}};
  testing::write_text(a, testing::encode(zeros));
  testing::write_text(b, testing::encode(nan));
  const auto run = diecast({"compare", a, b});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.output.find("2 not finite, left out\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("exact                1 not finite, left out\n"), std::string::npos)
      << run.output;
  EXPECT_NE(run.output.find("signal to noise exact; 3 not finite, left out\n"), std::string::npos)
      << run.output;
  zeros.tensors.erase("some"), nan.tensors.erase("some");
  testing::write_text(a, testing::encode(zeros));
  testing::write_text(b, testing::encode(nan));
  const auto lost_all = diecast({"compare", a, b});
  EXPECT_NE(lost_all.output.find("no finite value is in both; 2 not finite, left out\n"),
            std::string::npos)
      << lost_all.output;
}

TEST(Tool, CompilesASpellingAndFindsItAgain) {
  ToolRun diecast;
  const std::string out = diecast.folder / "k.cubin";
  const auto first = diecast({"compile", "amax", "IN=bf16", "@", "sm_90a", "-o", out});
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_NE(first.output.find("compiled"), std::string::npos);
  EXPECT_EQ(testing::text_of(out).substr(1, 3), "ELF");
  EXPECT_NE(diecast({"compile", "amax IN=bf16 @ sm_90a"}).output.find("found on disk"),
            std::string::npos);
}

TEST(Tool, WarmsAManifestAndThenExpectsNothingNew) {
  ToolRun diecast;
  const std::string manifest = kSource + "/cache/manifests/nvfp4.txt";
  const auto early = diecast({"warm", manifest, "--expect-no-new"});
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_NE(early.errors.find("not_cached: --expect-no-new: "), std::string::npos) << early.errors;
  EXPECT_NE(early.output.find("missing: quantize_nvfp4 COLS=0 "), std::string::npos)
      << early.output;
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");  // nothing was compiled
  ASSERT_EQ(diecast({"warm", manifest}).exit_code, 0);
  diecast.set("DIECAST_CACHE", "ro:" + diecast.cache_path());  // what is shipped can be checked too
  EXPECT_EQ(diecast({"warm", manifest, "--expect-no-new"}).exit_code, 0);
  const std::string more = diecast.folder / "more.txt";
  testing::write_text(more, "amax COLS=48 IN=f16 @ sm_90a\n");
  const auto json =
      nlohmann::json::parse(diecast({"warm", more, "--expect-no-new", "--json"}).output);
  EXPECT_EQ(json.at("wanted"), 1);
  EXPECT_TRUE(json.at("missing").at(0).get<std::string>().starts_with("amax COLS=48 "));
  EXPECT_NE(diecast({"cache", "stats"}).output.find("nvrtc-13.0"), std::string::npos);
}

// A root that is not there yet is an empty one.
TEST(Tool, ExpectsNothingNewOfARootThatIsNotThere) {
  ToolRun diecast;
  const std::string lines = diecast.folder / "m.txt", root = diecast.folder / "none/yet";
  testing::write_text(lines, "amax IN=bf16,f16 @ sm_90a\n");
  diecast.set("DIECAST_CACHE", root);
  const auto run = diecast({"warm", lines, "--expect-no-new"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("diecast: not_cached: --expect-no-new: 2 of 2 would have to be "),
            std::string::npos)
      << run.errors;
  EXPECT_NE(run.output.find("missing: amax "), std::string::npos) << run.output;
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST(Tool, WarmingFailsWhereTheLimitHasRemovedWhatItMade) {
  ToolRun diecast;
  const std::string lines = diecast.folder / "m.txt";
  testing::write_text(lines, "amax IN=bf16,f16 @ sm_90a\n");
  diecast.set("DIECAST_CACHE_BYTES", "1K");
  const auto run = diecast({"warm", lines});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.errors.substr(run.errors.find("diecast: ")),
            cat("diecast: not_cached: 2 of 2 kernels are no longer in ", diecast.cache_path(),
                ": it is limited to 1 KiB, and the least recently used were removed\n"
                "  fix: raise DIECAST_CACHE_BYTES (0: no limit) and warm again, or name fewer "
                "kernels\n"));
  diecast.set("DIECAST_CACHE_BYTES", "0");
  EXPECT_EQ(diecast({"warm", lines}).exit_code, 0);
}

TEST(Tool, ReadsManifestsAndTemplatesWithAByteOrderMark) {
  ToolRun diecast;
  const std::string lines = diecast.folder / "m.txt", own = diecast.folder / "k.cu";
  testing::write_text(lines,
                      "\xEF\xBB\xBF"
                      "amax IN=bf16 @ sm_90a\nk @ sm_90a\n");
  testing::write_text(own,
                      "\xEF\xBB\xBF/* diecast\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  const auto run = diecast({"warm", lines, "--add", own});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

TEST(Tool, ErrorsEndInAFixAndExitWithOne) {
  ToolRun diecast;
  const auto unknown = diecast({"show", "quantise_nvfp4"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_EQ(unknown.errors,
            "diecast: unknown_template: no template is named \"quantise_nvfp4\"; did you mean "
            "`quantize_nvfp4`?\n"
            "  fix: `diecast list` shows the templates; your own come by --add NAME.cu, in a "
            "program by runtime.add(\"NAME.cu\")\n");
  EXPECT_EQ(diecast({"compile", "amax", "IN=bf16", "@", "sm_100"}).exit_code, 1);
  EXPECT_EQ(diecast({"compile", "amax", "IN=bf15", "@", "sm_90a"}).exit_code, 1);
}

TEST(Tool, ABadCheckpointLeavesNoFileBehind) {
  ToolRun diecast;
  testing::write_text(diecast.folder / "bad.safetensors", "\xff\xff\xff\xff\xff\xff\xff\x7f{}");
  const auto before = tree(diecast.folder.path());
  const auto run = diecast({"quantize", diecast.folder / "bad.safetensors",
                            diecast.folder / "out.safetensors", "--target", "host"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("diecast: file_corrupt: "), std::string::npos) << run.errors;
  EXPECT_NE(run.errors.find("\n  fix: "), std::string::npos);
  EXPECT_EQ(tree(diecast.folder.path()), before);
  EXPECT_EQ(
      diecast({"quantize", diecast.folder / "none.safetensors", diecast.folder / "out"}).exit_code,
      1);
}

TEST(Tool, ADryRunPlansWithoutADevice) {
  ToolRun diecast;
  const std::string golden = kSource + "/tests/golden/nvfp4_te.safetensors";
  const auto run = diecast({"quantize", golden, "--dry-run", "--force"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("c000/x"), std::string::npos);
}

// An error below a plan of a thousand tensors is not read.
TEST(Tool, WhatCannotBeginPrintsNoPlan) {
  ToolRun diecast;
  const std::string golden = kSource + "/tests/golden/nvfp4_te.safetensors";
  const auto no_gpu =
      diecast({"quantize", golden, diecast.folder / "out", "--target", "cuda", "--force"});
  EXPECT_EQ(no_gpu.exit_code, 1);
  EXPECT_TRUE(no_gpu.errors.starts_with("diecast: driver_unavailable: ")) << no_gpu.errors;
  EXPECT_EQ(no_gpu.output, "");
}

TEST(Tool, AProfileWithoutFourOverSixSaysWhichHasIt) {
  ToolRun diecast;
  const std::string golden = kSource + "/tests/golden/nvfp4_te.safetensors";
  const auto run =
      diecast({"quantize", golden, "--dry-run", "--profile", "pr546", "--four-over-six", "mae"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(
      run.errors,
      "diecast: not_supported: four over six under profile pr546\n  fix: --profile te has it\n");
}

}  // namespace
}  // namespace diecast
