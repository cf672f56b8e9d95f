// What the command says to those who do not know it yet: its help, and errors of wrong words.
#include <gtest/gtest.h>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

// What stands nowhere else on a machine that has the command alone.
TEST(Usage, HelpTellsOfExitCodesAndTheEnvironment) {
  ToolRun diecast;
  const auto help = diecast({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("\nBegin with:\n  diecast doctor "), std::string::npos) << help.output;
  EXPECT_NE(help.output.find("\nExit codes: 0 done; 1 "), std::string::npos) << help.output;
  const std::string page = testing::text_of(testing::kSource + "/src/README.md");
  const std::size_t table = page.find("| variable | is |"), end = page.find("\n\n", table);
  int names = 0;
  for (std::size_t at = page.find("`DIECAST_", table); at < end;
       at = page.find("`DIECAST_", at + 1), ++names) {
    const std::string name = page.substr(at + 1, page.find_first_of("`*", at + 1) - at - 1);
    EXPECT_NE(help.output.find(name), std::string::npos) << name;
  }
  EXPECT_GT(names, 9);
  EXPECT_EQ(diecast({"cache", "ls", "--help"}).output.find("DIECAST_"), std::string::npos);
}

TEST(Usage, WrongWordsAreErrorsWithAFix) {
  ToolRun diecast;
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "diecast: invalid_argument: no command was given\n  fix: `diecast --help` lists them\n"},
      {{"quantise"},
       "diecast: invalid_argument: no command or option is named \"quantise\"; did you mean "
       "`quantize`?\n  fix: `diecast --help` lists them\n"},
      {{"--quiet"},
       "diecast: invalid_argument: no command or option is named \"--quiet\"\n"
       "  fix: `diecast --help` lists them\n"},
      {{"quantize", "a", "b", "--target", "tpu"},
       "diecast: invalid_argument: --target: tpu not in {auto,host,cuda}\n"
       "  fix: `diecast quantize --help` shows what it takes\n"},
      {{"quantize", "a", "b", "--profile", "tee"},
       "diecast: invalid_argument: --profile: tee not in {te,pr546,modelopt,torchao,te_ref}\n"
       "  fix: `diecast quantize --help` shows what it takes\n"},
      {{"cache", "lss"},
       "diecast: invalid_argument: `diecast cache` has nothing named \"lss\"; did you mean `ls`?\n"
       "  fix: `diecast cache --help` shows what it takes\n"},
      {{"bundle"},
       "diecast: invalid_argument: `diecast bundle` needs one of create, export, import, verify\n"
       "  fix: `diecast bundle --help` shows what it takes\n"},
      {{"bundle", "create", "a", "-o", "b", "--time-limit", "0"},
       "diecast: invalid_argument: --time-limit: Value 0 not in range 0.001000 to 86400.000000\n"
       "  fix: `diecast bundle create --help` shows what it takes\n"},
      {{"warm", "a", "--time-limit", "nan"},
       "diecast: invalid_argument: --time-limit: Value nan is not a number\n"
       "  fix: `diecast warm --help` shows what it takes\n"},
      {{"compile", "amax IN=bf16 @ sm_80", "--source", "--json"},
       "diecast: invalid_argument: --source excludes --json\n"
       "  fix: `diecast compile --help` shows what it takes\n"},
      {{"warm", "a", "--jbos", "1"},
       "diecast: invalid_argument: `diecast warm` has no option \"--jbos\"; did you mean "
       "`--jobs`?\n"
       "  fix: `diecast warm --help` shows what it takes\n"},
      {{"quantize", "a", "b", "--device", "host"},
       "diecast: invalid_argument: `diecast quantize` has no option \"--device\"; did you mean "
       "`--target`?\n"
       "  fix: `diecast quantize --help` shows what it takes\n"},
      {{"bundle", "create", "a", "-o", "b", "--tmie-limit=5"},
       "diecast: invalid_argument: `diecast bundle create` has no option \"--tmie-limit\"; did you "
       "mean `--time-limit`?\n"
       "  fix: `diecast bundle create --help` shows what it takes\n"},
      {{"doctor", "please"},
       "diecast: invalid_argument: `diecast doctor` does not take \"please\"\n"
       "  fix: `diecast doctor --help` shows what it takes\n"}};
  for (const auto& [words, message] : cases) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.errors, message);
    EXPECT_EQ(run.output, "");
  }
  EXPECT_EQ(diecast({"warm", "--help"}).exit_code, 0);
}

// One of them would be ignored.
TEST(Usage, OptionsThatContradictAreRefused) {
  ToolRun diecast;
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"tune", "amax IN=bf16", "--merge", "a", "--out", "b"}, "--merge excludes spelling\n"},
      {{"tune", "--merge", "a", "--out", "b", "--target", "host"}, "--merge excludes --target\n"},
      {{"tune", "amax IN=bf16", "--in-process", "--time-limit", "3"},
       "--time-limit excludes --in-process\n"},
      {{"tune", "amax IN=bf16", "--retry"}, "--retry requires --out\n"},
      {{"tune", "amax IN=bf16 @ host", "--target", "cuda"},
       "\"amax IN=bf16 @ host\" has a target, but a kernel is tuned for a device\n"},
      {{"warm", "a", "--in-process", "--time-limit", "3"}, "--time-limit excludes --in-process\n"},
      {{"bundle", "create", "a", "-o", "b", "--in-process", "--memory-limit", "1G"},
       "--memory-limit excludes --in-process\n"}};
  for (const auto& [words, message] : cases) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_EQ(run.errors.find("diecast: invalid_argument: " + message), 0u) << run.errors;
  }
}

TEST(Usage, AnEmptyValueIsNotAsIfNoneWereGiven) {
  ToolRun diecast;
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"compile", "amax IN=bf16 @ sm_90a", "-o", ""}, "`diecast compile`: --output"},
      {{"tune", "amax IN=bf16", "--out", ""}, "`diecast tune`: --out"},
      {{"warm", ""}, "`diecast warm`: manifest"},
      {{"bundle", "create", "a", "-o", ""}, "`diecast bundle create`: --output"}};
  for (const auto& [words, name] : cases) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 2) << name;
    EXPECT_EQ(run.errors.find("diecast: invalid_argument: " + name + " was given an empty value\n"),
              0u)
        << run.errors;
    EXPECT_EQ(run.output, "");
  }
}

// Before anything is looked for, opened or measured.
TEST(Usage, WordsThatAreMissingAreNamed) {
  ToolRun diecast;
  const std::string no_manifest =
      "no manifest was named\n"
      "  fix: name a file such as cache/manifests/nvfp4.txt (share/diecast/cache/manifests of an "
      "installed diecast), or what DIECAST_TRACE wrote\n";
  const std::string no_kernel =
      "no kernel was named\n"
      "  fix: diecast tune \"amax IN=bf16\", or --merge FILE... for records that are there\n";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"warm"}, no_manifest},
      {{"bundle", "create", "-o", "b"}, no_manifest},
      {{"quantize", "none.safetensors"},
       "no output was named\n  fix: diecast quantize IN OUT, or --dry-run for the plan alone\n"},
      {{"tune"}, no_kernel},
      {{"tune", "--merge", "a"}, "--merge has nowhere to write\n  fix: add --out FILE\n"},
      {{"tune", "amax IN=bf16", "--size", "rows=many"},
       "\"rows=many\" is no size\n"
       "  fix: write it as --size rows=1,512,16384 --size cols=4096\n"}};
  for (const auto& [words, message] : cases) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_EQ(run.errors, "diecast: invalid_argument: " + message);
    EXPECT_EQ(run.output, "");
  }
}

}  // namespace
}  // namespace diecast
