// The manifests in cache/manifests name kernels that exist, and all lengths of a template's rows.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

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
      if (line.empty() || line[0] == '#') continue;
      std::size_t points = 4;  // targets
      for (const std::string_view word : words(line))
        if (word.find('=') != word.npos) points *= split(word, ',').size();
      wanted += points;
    }
    // A star stands for as many values as the template has.
    EXPECT_TRUE(text.find("=*") != text.npos || expanded->size() == wanted) << file.path();
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"deepseek-v3", "gpt-oss", "kimi-k2", "llama3-405b",
                                             "llama3-70b", "llama3-8b", "nvfp4", "qwen3-235b-a22b",
                                             "qwen3-30b-a3b", "qwen3-32b", "qwen3-8b"}));
}

// Row lengths of a manifest's table of projections: the columns, and those of o and down over 2, 4
// and 8 GPUs where they are whole blocks; what is left out is said.
std::set<std::int64_t> lengths_of_the_table(const std::string& text) {
  std::set<std::int64_t> out;
  bool in_table = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = words(line);
    if (cells.size() < 4 || cells[0] != "#") continue;
    const auto columns = parse_integer(cells.back());
    if (in_table && columns) {
      const bool split_over_gpus = cells[1] == "o" || cells[1] == "down";
      for (const int gpus : {1, 2, 4, 8}) {
        if (gpus > 1 && !split_over_gpus) break;
        if (*columns % (16 * gpus) == 0) {
          out.insert(*columns / gpus);
        } else {
          EXPECT_NE(text.find(cat(*columns / gpus, " is no multiple of 16")), text.npos) << line;
        }
      }
    }
    in_table = in_table || cells.back() == "columns";
  }
  return out;
}

TEST(ShippedManifests, HaveTheRowLengthsOfTheirTables) {
  int tables = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/manifests")) {
    const std::string text = testing::text_of(file.path());
    const std::set<std::int64_t> expected = lengths_of_the_table(text);
    if (expected.empty()) continue;  // nvfp4.txt takes any length
    ++tables;
    // Of a template in a layout: its lines differ in tunes, which go by the row length.
    std::map<std::string, std::set<std::int64_t>> found;
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with('#')) continue;
      const auto all = words(line);
      const auto starts = [&](std::string_view with) {
        return std::ranges::find_if(all, [&](auto word) { return word.starts_with(with); });
      };
      const auto cols = starts("COLS="), layout = starts("LAYOUT=");
      if (cols == all.end()) continue;
      auto& of = found[cat(all[0], " ", layout == all.end() ? "" : *layout)];
      for (const std::string_view length : split(cols->substr(5), ','))
        of.insert(*parse_integer(length));
    }
    for (const auto& [what, lengths] : found)
      EXPECT_EQ(lengths, expected) << file.path() << ": " << what;
  }
  EXPECT_EQ(tables, 10);
}

}  // namespace
}  // namespace diecast
