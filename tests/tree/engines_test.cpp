// What the front page sums up of other engines is what tests/engines/results.txt holds.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <map>
#include <sstream>

namespace diecast::tree {
namespace {

// How many models of a format and a config came to each verdict in an engine.
std::map<std::string, int> verdicts(const std::string& format, const std::string& config,
                                    const std::string& engine) {
  std::map<std::string, int> out;
  std::istringstream lines(text_of("tests/engines/results.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string model, its_format, its_config, its_engine, verdict;
    words >> model >> its_format >> its_config >> its_engine >> verdict;
    if (its_engine == "vLLM") words >> verdict;  // behind its version
    if (its_format == format && its_config == config && its_engine == engine) ++out[verdict];
  }
  return out;
}

TEST(Engines, TheFrontPageCountsTheirVerdicts) {
  const std::string page = text_of("README.md");
  const auto says = [&](const std::string& words) {
    EXPECT_NE(page.find(words), page.npos) << "README.md should say: " << words;
  };
  const auto number = [](int count) { return std::to_string(count); };
  auto vllm = verdicts("nvfp4", "modelopt", "vLLM");
  EXPECT_EQ(vllm["loads"], 2);
  EXPECT_EQ(vllm["rejected"], 1);
  says("NVFP4 as ModelOpt writes it | " + number(vllm["runs"]) + " run, MiniMax-M2 and BERT load");
  vllm = verdicts("nvfp4", "compressed-tensors", "vLLM");
  EXPECT_EQ(vllm["loads"], 1);
  says("NVFP4 as compressed-tensors writes it | " + number(vllm["runs"]) + " run, MiniMax-M2");
  vllm = verdicts("nvfp4-w4a16", "modelopt", "vLLM");
  EXPECT_EQ(vllm["loads"], 1);
  says("W4A16 as ModelOpt writes it | " + number(vllm["runs"]) + " run, MiniMax-M2 loads");
  vllm = verdicts("nvfp4-w4a16", "compressed-tensors", "vLLM");
  EXPECT_EQ(vllm["loads"], 2);
  EXPECT_EQ(vllm["rejected"], 1);
  says("W4A16 as compressed-tensors writes it | " + number(vllm["runs"]) +
       " run, MiniMax-M2 and BERT load, T5 is rejected");
  for (const std::string format : {"nvfp4+mxfp8", "nvfp4+fp8"})
    EXPECT_EQ(verdicts(format, "modelopt", "vLLM"), (std::map<std::string, int>{{"runs", 2}}));
  auto other = verdicts("nvfp4", "compressed-tensors", "transformers");
  says("| " + number(other["runs"]) + " run, " + number(other["near"]) + " come near, " +
       number(other["rejected"]) + " are rejected; " + number(other["differs"]) + " mixtures");
  other = verdicts("nvfp4", "modelopt", "llama.cpp");
  says("takes " + number(other["converts"] + other["differs"] + other["near"] + other["runs"]) +
       ", and");
  says(number(other["runs"]) + " of them run and " + number(other["near"]) + " come near");
}

}  // namespace
}  // namespace diecast::tree
