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

TEST(ShippedManifests, TheFrontPageCountsTheKernelsOfNvfp4) {
  testing::FakeMachine machine;
  const std::string folder = DIECAST_SOURCE_DIR "/";
  const auto all =
      expand_manifest(*machine.runtime(), testing::text_of(folder + "cache/manifests/nvfp4.txt"),
                      "nvfp4.txt", {}, expand_op);
  ASSERT_TRUE(all) << all.error().message();
  const std::string words = cat("0 of ", all->size(), " GPU kernels compiled");
  EXPECT_NE(testing::text_of(folder + "README.md").find(words), std::string::npos) << words;
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

// The splits that a model's products need, by its table.
struct Products {
  std::set<int> one, parts, gated, of_experts, of_experts_gated;

  static Products of(const std::string& text) {
    Products out;
    for (const std::string_view line : split(text, '\n')) {
      const auto cells = words(line);
      if (cells.size() < 4 || cells[0] != "#" || !parse_integer(cells.back())) continue;
      const auto rows = parse_integer(cells[cells.size() - 2]);
      const bool shares_columns = cells[1] == "o" || cells[1] == "down",
                 gated = cells[1] == "gate,";
      const std::set<int> all = splits_of(*rows, *parse_integer(cells.back()), !shares_columns);
      const bool of_expert = cells[cells.size() - 3] == "expert";
      std::set<int>& to = of_expert ? (gated ? out.of_experts_gated : out.of_experts)
                                    : (gated ? out.gated : out.one);
      to.insert(all.begin(), all.end());
      if (cells[1] == "q,") out.parts = all;
    }
    return out;
  }
};

// The lines that these products are, none where a model has no such product.
class ProductLines {
 public:
  void add(std::string_view what, const std::set<int>& splits, std::string_view rest) {
    std::string list;
    for (const int each : splits) list += cat(list.empty() ? "" : ",", each);
    if (!list.empty()) lines_.insert(cat("op ", what, " split=", list, " ", rest, kTargets));
  }
  void add_combine() {
    lines_.insert(cat("op combine_experts in=bf16 out=bf16 has_expert_map=0,1", kTargets));
  }
  const std::set<std::string>& all() const { return lines_; }

 private:
  static constexpr std::string_view kTargets = " @ sm_90a sm_100a sm_103a sm_120a";
  std::set<std::string> lines_;
};

TEST(ShippedManifests, HaveTheProductsOfTheirModels) {
  int of_experts = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/manifests")) {
    const std::string text = testing::text_of(file.path()), model = file.path().stem().string();
    if (model == "nvfp4") continue;  // of no model
    const Products products = Products::of(text);
    const bool biased = model == "gpt-oss";  // whose experts are MXFP4, as it is released
    const std::string_view any_bias = biased ? " has_bias=0,1" : "",
                           bias = biased ? " has_bias=1" : "",
                           formats = biased ? "nvfp4,mxfp4" : "nvfp4",
                           gated = biased ? "swiglu_oai" : "silu_and_mul";
    ProductLines wanted;
    const auto dense = [](std::string_view activation) {
      return cat("linear in=bf16 out=bf16 format=nvfp4 activation=", activation);
    };
    const auto experts = [&](std::string_view activation) {
      return cat("linear_experts in=bf16 out=bf16 format=", formats, " activation=", activation,
                 " form=indexed,contiguous,masked");
    };
    wanted.add(dense("none"), products.one, cat("factors=one", any_bias));
    wanted.add(dense("none"), products.parts, cat("factors=parts", any_bias));
    wanted.add(dense("silu_and_mul"), products.gated, "factors=one,parts");
    wanted.add(experts(gated), products.of_experts_gated, cat("has_expert_map=0,1", bias));
    wanted.add(experts("none"), products.of_experts, cat("has_expert_map=0,1", any_bias));
    if (!products.of_experts.empty()) wanted.add_combine(), ++of_experts;
    std::set<std::string> found;
    for (const std::string_view line : split(text, '\n'))
      if (line.starts_with("op linear") || line.starts_with("op combine")) found.emplace(line);
    EXPECT_EQ(found, wanted.all()) << model;
  }
  EXPECT_EQ(of_experts, 5);
}

}  // namespace
}  // namespace diecast
