// The manifests in cache/manifests name ops and kernels that exist, and all lengths of their
// models' rows.
#include <diecast/base/text.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/ops/linear/linear.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

TEST(ShippedManifests, NameWhatExists) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  std::vector<std::string> names;
  const std::string folder = DIECAST_SOURCE_DIR "/cache/manifests";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const auto expanded = expand_manifest(*runtime, testing::text_of(file.path()),
                                          file.path().filename().string(), {}, expand_op);
    EXPECT_TRUE(expanded) << expanded.error().message();
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"deepseek-v3", "gpt-oss", "kimi-k2", "llama3-405b",
                                             "llama3-70b", "llama3-8b", "nvfp4", "qwen3-235b-a22b",
                                             "qwen3-30b-a3b", "qwen3-32b", "qwen3-8b"}));
}

TEST(ShippedManifests, HaveKernelsForEveryTarget) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  for (const auto& file :
       std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/manifests"))
    for (const char* name : {"sm_80", "sm_89", "sm_90a", "sm_120a", "host"}) {
      const Target targets[] = {Target::parse(name).value()};
      const auto all = expand_manifest(*runtime, testing::text_of(file.path()),
                                       file.path().string(), targets, expand_op);
      ASSERT_TRUE(all) << name << all.error().message();
      EXPECT_GT(all->size(), 10u) << file.path() << " " << name;
    }
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
    std::set<std::int64_t> found;
    for (const std::string_view word : words(text)) {
      if (!word.starts_with("cols=")) continue;
      for (const std::string_view length : split(word.substr(5), ','))
        found.insert(*parse_integer(length));
    }
    EXPECT_EQ(found, expected) << file.path();
  }
  EXPECT_EQ(tables, 10);
}

// How many parts a sum of these weights has, over 1, 2, 4 and 8 GPUs that share their rows or
// columns.
std::set<int> splits_of(std::int64_t rows, std::int64_t cols, bool share_rows) {
  std::set<int> out;
  for (const int gpus : {1, 2, 4, 8})
    out.insert(share_rows ? linear_split(rows / gpus, cols) : linear_split(rows, cols / gpus));
  return out;
}

TEST(ShippedManifests, HaveTheProductsOfDenseModels) {
  for (const char* model : {"llama3-8b", "llama3-70b", "llama3-405b", "qwen3-8b", "qwen3-32b"}) {
    const std::string text =
        testing::text_of(cat(DIECAST_SOURCE_DIR "/cache/manifests/", model, ".txt"));
    std::set<int> one, parts, gated;  // splits that are needed
    std::set<std::string> lines;
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("op linear")) lines.emplace(line);
      const auto cells = words(line);
      if (cells.size() < 4 || !parse_integer(cells.back())) continue;
      const std::int64_t cols = *parse_integer(cells.back()),
                         rows = *parse_integer(cells[cells.size() - 2]);
      const bool shares_columns = cells[1] == "o" || cells[1] == "down";
      const std::set<int> splits = splits_of(rows, cols, !shares_columns);
      std::set<int>& to = cells[1] == "gate," ? gated : one;
      to.insert(splits.begin(), splits.end());
      if (cells[1] == "q,") parts = splits;
    }
    const auto line = [](std::string_view activation, const std::set<int>& splits,
                         std::string_view factors) {
      std::string list;
      for (const int each : splits) list += cat(list.empty() ? "" : ",", each);
      return cat("op linear in=bf16 out=bf16 format=nvfp4 activation=", activation, " split=", list,
                 " factors=", factors, " @ sm_90a sm_100a sm_103a sm_120a");
    };
    EXPECT_EQ(lines, (std::set<std::string>{line("none", one, "one"), line("none", parts, "parts"),
                                            line("silu_and_mul", gated, "one,parts")}))
        << model;
  }
}

}  // namespace
}  // namespace diecast
