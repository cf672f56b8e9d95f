// Every subcommand and option that the other tests of the command do not start.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tool/run_tool.h"
#include "tool/small_checkpoint.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::ToolRun;

const std::string kAmax =
    "amax COLS=0 ROWS=dense IN=bf16 PER=tensor BLOCK=16 NANS=ignore RHT=none SIGN_MASK=0 "
    "THREADS=256 @ ";

TEST(Subcommands, ListShowAndVariantsSpeakJson) {
  ToolRun diecast;
  const auto list = json::parse(diecast({"list", "--json"}).output);
  ASSERT_GE(list.size(), 4u);
  for (const auto& one : list) {
    const std::string name = one.at("template");
    const auto shown = json::parse(diecast({"show", name, "--json"}).output);
    EXPECT_EQ(shown.at("template"), name);
    EXPECT_FALSE(shown.at("parameters").empty()) << name;
    const auto prose = diecast({"show", name});
    EXPECT_EQ(prose.output.find(name + ": "), 0u);
    EXPECT_EQ(prose.exit_code, 0);
  }
  const auto variants = json::parse(diecast({"variants", "amax", "IN=bf16", "--json"}).output);
  EXPECT_NE(std::find(variants.begin(), variants.end(), kAmax + "sm_90a"), variants.end());
}

TEST(Subcommands, CompileTakesTargetsAndGivesSourceOrJson) {
  ToolRun diecast;
  const auto compiled = diecast({"compile", "amax IN=bf16", "--target", "sm_80,sm_100a", "--json"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.errors;
  const auto outcomes = json::parse(compiled.output).at("specializations");
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].at("specialization"), kAmax + "sm_80");
  EXPECT_EQ(outcomes[1].at("specialization"), kAmax + "sm_100a");
  EXPECT_EQ(outcomes[1].at("origin"), "compiled");
  const auto source = diecast({"compile", "amax IN=bf16 @ sm_90a", "--source"});
  EXPECT_NE(source.output.find("#define DIECAST_CC 90\n"), std::string::npos);
  EXPECT_NE(source.output.find("using IN = bf16;\n"), std::string::npos);
  EXPECT_EQ(diecast({"compile", "amax IN=bf16 @ sm_90a", "--target", "sm_9"}).exit_code, 1);
}

// One that fails is told to programs as one of several is.
TEST(Subcommands, CompileTellsProgramsOfItsOneFailure) {
  ToolRun diecast;
  const std::string own = diecast.folder / "large.cu";
  testing::write_text(own, "/* diecast\nlaunch grid(1) block(2048)\n*/\nDIECAST_KERNEL {}\n");
  const auto run = diecast({"compile", "large @ sm_80", "--add", own, "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const auto failed = json::parse(run.output).at("failed");
  ASSERT_EQ(failed.size(), 1u) << run.output;
  EXPECT_EQ(failed[0].at("code"), "constraint_violated");
}

// One of several that fails takes nothing from the others, and is named.
TEST(Subcommands, CompileOfALineTellsWhichFailedAndPrintsTheOthers) {
  ToolRun diecast;
  const std::string own = diecast.folder / "half.cu";
  testing::write_text(own,
                      "/* diecast\noption int A {1, 2}\nlaunch grid(1) block(A == 1 ? 32 : 2048)\n"
                      "*/\nDIECAST_KERNEL {}\n");
  const auto run = diecast({"compile", "half A=* @ sm_80", "--add", own});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.output.find("half A=1 @ sm_80\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("failed: half A=2 @ sm_80\n"), std::string::npos) << run.output;
  EXPECT_NE(run.errors.find("half.cu:3: block(...) is 2048 threads"), std::string::npos)
      << run.errors;
  const auto listed = diecast({"compile", "half A=* @ sm_80", "--add", own, "--json"});
  EXPECT_EQ(listed.exit_code, 1);
  EXPECT_EQ(json::parse(listed.output).at("failed").at(0).at("specialization"), "half A=2 @ sm_80");
  const auto sources = diecast({"compile", "amax IN=bf16,f16 @ sm_80", "--source"});
  EXPECT_NE(sources.output.find("// amax "), std::string::npos) << sources.output;
}

TEST(Subcommands, WhatIsReadIsNeverWrittenOver) {
  ToolRun diecast;
  const std::string own = diecast.folder / "half.cu", manifest = diecast.folder / "wanted.txt";
  const std::string text = "/* diecast\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n";
  testing::write_text(own, text);
  testing::write_text(manifest, "half @ sm_80\n");
  const std::vector<std::string> cases[] = {
      {"compile", "half @ sm_80", "--add", own, "-o", diecast.folder / "./half.cu"},
      {"compile", "half @ sm_80", "--add", own, "--source", "-o", own},
      {"bundle", "create", manifest, "--add", own, "-o", own},
      {"bundle", "create", manifest, "--add", own, "-o", manifest}};
  for (const std::vector<std::string>& words : cases) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_NE(run.errors.find("file_exists: the output "), std::string::npos) << run.errors;
    EXPECT_NE(run.errors.find("fix: give the output another name"), std::string::npos);
  }
  EXPECT_EQ(testing::text_of(own), text);
  EXPECT_EQ(testing::text_of(manifest), "half @ sm_80\n");
}

TEST(Subcommands, WarmTakesTargetsAndJobs) {
  ToolRun diecast;
  const std::string manifest = diecast.folder / "wanted.txt";
  testing::write_text(manifest, "amax IN=bf16 @ sm_90a\n");
  const auto warmed =
      diecast({"warm", manifest, "--target", "sm_80,sm_86", "--jobs", "2", "--json"});
  ASSERT_EQ(warmed.exit_code, 0) << warmed.errors;
  const auto outcomes = json::parse(warmed.output).at("specializations");
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].at("specialization"), kAmax + "sm_80");
  EXPECT_EQ(outcomes[1].at("specialization"), kAmax + "sm_86");
}

// Paths are bytes; JSON is not.
TEST(Subcommands, SpeakJsonOfPathsThatAreNotUtf8) {
  ToolRun diecast;
  diecast.set("DIECAST_CACHE", diecast.cache_path() + "/\xff");
  ASSERT_EQ(diecast({"compile", "amax IN=bf16 @ sm_90a", "--json"}).exit_code, 0);
  const std::string shown = diecast.cache_path() + "/\uFFFD";
  EXPECT_EQ(json::parse(diecast({"cache", "ls", "--json"}).output).at(0).at("root"), shown);
  for (const char* what : {"path", "stats"}) {
    const auto told = json::parse(diecast({"cache", what, "--json"}).output);
    EXPECT_EQ(told.at("roots").at(0).at("root"), shown) << what;
  }
  EXPECT_FALSE(json::parse(diecast({"doctor", "--json"}).output).empty());
}

// Zeros are no signal: what differs from them is neither exact nor so many dB.
TEST(Subcommands, CompareWithZerosHasNoSignal) {
  ToolRun diecast;
  const auto file = [&](const std::string& name, const std::vector<float>& values) {
    testing::TestFile out;
    out.tensors["a"] = {
        "F32",
        {values.size()},
        std::string(reinterpret_cast<const char*>(values.data()), sizeof(float) * values.size())};
    testing::write_text(diecast.folder / name, testing::encode(out));
    return diecast.folder / name;
  };
  const auto run = diecast({"compare", file("zeros", {0, 0}), file("ones", {1, 1})});
  EXPECT_EQ(run.output,
            "tensor  largest error  mean error  signal to noise, dB\n"
            "a           1.000e+00   1.000e+00  no signal\n"
            "all values: largest error 1.000e+00, mean 1.000e+00, signal to noise no signal\n");
}

TEST(Subcommands, CacheSaysWhereItIsAndWhatItHolds) {
  ToolRun diecast;
  EXPECT_EQ(diecast({"cache", "path"}).output, diecast.cache_path() + "\n");
  ASSERT_EQ(diecast({"compile", "amax IN=bf16 @ sm_90a"}).exit_code, 0);
  const auto entries = json::parse(diecast({"cache", "ls", "--json"}).output);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].at("specialization"), kAmax + "sm_90a");
  const std::string key = entries[0].at("key");
  EXPECT_EQ(key.size(), 32u);
  EXPECT_NE(diecast({"cache", "ls"}).output.find(key.substr(0, 12)), std::string::npos);
  const auto none = diecast({"cache", "clear", "--compiler", "nvrtc"});  // a name, no prefix
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_TRUE(
      none.output.starts_with("note: nothing is of the compiler \"nvrtc\"; `diecast cache "
                              "stats` names those that it has\n"))
      << none.output;
  EXPECT_EQ(json::parse(diecast({"cache", "ls", "--json"}).output).size(), 1u);
}

TEST(Subcommands, QuantizePlansWhatItsGlobsLeave) {
  ToolRun diecast;
  const std::string model = diecast.folder / "model.safetensors";
  testing::write_small_checkpoint(model);
  const auto plan = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"quantize", model, "--dry-run", "--json"});
    const auto run = diecast(options);
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    std::map<std::string, std::string> actions;
    const auto plan = json::parse(run.output);
    for (const auto& one : plan.at("tensors")) actions[one.at("name")] = one.at("action");
    return actions;
  };
  const std::map<std::string, std::string> weight = {{"l.0.n.norm.weight", "copy"},
                                                     {"l.0.n.up.weight", "quantize"}};
  const std::map<std::string, std::string> nothing = {{"l.0.n.norm.weight", "copy"},
                                                      {"l.0.n.up.weight", "copy"}};
  EXPECT_EQ(plan({}), weight);
  EXPECT_EQ(plan({"--include", "*.up.*"}), weight);
  EXPECT_EQ(plan({"--include", "*.down.*"}), weight) << "adds nothing, takes nothing";
  EXPECT_EQ(plan({"--exclude", "*.up.weight", "--force"}), nothing);
  EXPECT_EQ(plan({"--keep", "*.up.weight", "--force"}), nothing);
  EXPECT_EQ(plan({"--keep", "*.up.weight", "--include", "*.up.weight"}), weight);
  EXPECT_EQ(diecast({"quantize", model, "--dry-run", "--exclude", "*"}).exit_code, 1);
  const auto first = diecast({"quantize", "--include", "*.down.*", "--exclude", "*.gate.*",
                              "--include", "*.up.*", model, "--dry-run"});
  EXPECT_EQ(first.exit_code, 0)
      << first.errors;  // an option takes one glob, not the file behind it
  EXPECT_NE(first.output.find("quantize\n"), std::string::npos) << first.output;
}

TEST(Subcommands, OutputThatCannotBeWrittenIsAnError) {
  ProcessRequest request;
  for (const char* words : {"list", "--help", "list --help", "--version"}) {
    request.arguments = {"/bin/sh", "-c", cat("exec \"$0\" ", words, " > /dev/full"), DIECAST_TOOL};
    const ProcessResult run = run_process(request).value();
    EXPECT_EQ(run.exit_code, 1) << words;
    EXPECT_EQ(run.errors,
              "diecast: io_error: cannot write standard output: No space left on device\n"
              "  fix: send it where there is room; what the command has done stands\n")
        << words;
  }
}

// What is only reported otherwise: an odd last dimension, a field of the header that nobody knows.
TEST(Subcommands, StrictRefusesWhatIsOtherwiseReported) {
  ToolRun diecast;
  const auto file = [&](const std::string& name, const std::string& header, std::size_t bytes) {
    testing::write_text(diecast.folder / name, testing::file_of(header, std::string(bytes, '\0')));
    return diecast.folder / name;
  };
  const std::string odd = file(
      "odd.safetensors", R"({"l.0.a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
             "l.0.b.weight":{"dtype":"F32","shape":[2,16],"data_offsets":[24,152]}})",
      152);
  const std::string unknown = file(
      "unknown.safetensors",
      R"({"l.0.a.weight":{"dtype":"F32","shape":[2,16],"data_offsets":[0,128],"color":"red"}})",
      128);
  for (const std::string& path : {odd, unknown}) {
    EXPECT_EQ(diecast({"quantize", path, "--dry-run"}).exit_code, 0) << path;
    const auto strict = diecast({"quantize", path, "--dry-run", "--strict"});
    EXPECT_EQ(strict.exit_code, 1) << path;
    EXPECT_NE(strict.errors.find("\n  fix: "), std::string::npos) << strict.errors;
  }
}

}  // namespace
}  // namespace diecast
