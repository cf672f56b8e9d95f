// The manifests in cache/manifests name kernels that exist, and all of a line's lengths.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

TEST(ShippedManifests, NameKernelsThatExist) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  std::vector<std::string> names;
  const std::string folder = DIECAST_SOURCE_DIR "/cache/manifests";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string text = testing::text_of(file.path());
    const auto expanded = expand_manifest(*runtime, text, file.path().filename().string(), {});
    ASSERT_TRUE(expanded) << expanded.error().message();
    std::size_t wanted = 0;  // templates have no `require` on these: nothing may be left out
    for (const std::string_view line : split(text, '\n')) {
      if (line.empty() || line[0] == '#' || line.find("COLS=") == line.npos) continue;
      const std::size_t cols = line.find("COLS="), end = line.find(' ', cols);
      const auto lengths = split(line.substr(cols, end - cols), ',').size();
      const std::size_t layouts = line.find("LAYOUT=") == line.npos ? 1 : 2;
      wanted += lengths * layouts * 4;
    }
    EXPECT_TRUE(wanted == 0 || expanded->size() == wanted) << file.path();
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"deepseek-v3", "gpt-oss", "kimi-k2", "llama3-405b",
                                             "llama3-70b", "llama3-8b", "nvfp4", "qwen3-235b-a22b",
                                             "qwen3-30b-a3b", "qwen3-32b", "qwen3-8b"}));
}

}  // namespace
}  // namespace diecast
