// What the cache's and bundles' subcommands tell programs: each has --json, and one thing has one
// spelling in all of them.
#include <diecast/cache/bundle.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::text_of;
using testing::ToolRun;
using testing::tree;
using Json = nlohmann::json;

class CacheJson : public ::testing::Test {
 protected:
  std::string manifest() {
    testing::write_text(diecast_.folder / "manifest.txt", "amax IN=bf16,f16,f32 @ sm_90a\n");
    return diecast_.folder / "manifest.txt";
  }
  std::string warmed() {
    EXPECT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
    return diecast_.cache_path();
  }
  // What a subcommand prints with --json.
  Json ask(std::vector<std::string> words, int exit_code = 0) {
    words.push_back("--json");
    const auto run = diecast_(words);
    EXPECT_EQ(run.exit_code, exit_code) << run.output << run.errors;
    return Json::parse(run.output);
  }
  // One bit of the first entry is flipped; its path.
  static std::string damage(const std::string& root) {
    for (const std::string& name : tree(root)) {
      if (!name.ends_with(".dce")) continue;
      std::string bytes = text_of(root + "/" + name);
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      testing::write_text(root + "/" + name, bytes);
      return root + "/" + name;
    }
    return "";
  }
  ToolRun diecast_;
};

void add_fields(const Json& value, std::set<std::string>& to) {
  for (const auto& [name, below] : value.items()) {
    if (value.is_object()) to.insert(name);
    if (below.is_structured() && name != "counts") add_fields(below, to);
  }
}

TEST_F(CacheJson, WhatLooksAtARootMakesNone) {
  const std::string root = diecast_.folder / "misspelt";
  diecast_.set("DIECAST_CACHE", root);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"cache", "ls"},
        {"cache", "stats"},
        {"cache", "verify"},
        {"cache", "explain", "amax @ sm_90a"},
        {"bundle", "export", "-o", diecast_.folder / "k.dcb"}}) {
    const auto run = diecast_(words);
    EXPECT_EQ(run.exit_code, 1) << words[1];
    EXPECT_NE(run.errors.find("diecast: file_not_found: there is no cache: cannot open"),
              run.errors.npos)
        << run.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_F(CacheJson, SpellsEachThingOneWayInEverySubcommand) {
  const std::string root = warmed(), bundle = diecast_.folder / "k.dcb", kAmax = "amax IN=f16 @ ";
  diecast_.set("DIECAST_CACHE", "bundle:/nonexistent/k.dcb,rw:" + root);
  std::set<std::string> fields;
  const std::pair<std::vector<std::string>, int> all[] = {
      {{"cache", "ls"}, 0},
      {{"cache", "path"}, 1},  // a root is left out
      {{"cache", "stats"}, 0},
      {{"cache", "verify", "--rebuild"}, 1},
      {{"cache", "explain", kAmax + "sm_90a"}, 0},
      {{"cache", "explain", kAmax + "sm_80"}, 1},
      {{"bundle", "create", manifest(), "-o", bundle}, 0},
      {{"bundle", "verify", bundle}, 0},
      {{"bundle", "export", "-o", bundle}, 1},
      {{"bundle", "import", bundle}, 0},
      {{"cache", "prune", "--dry-run"}, 0},
      {{"cache", "clear"}, 0}};
  for (const auto& [words, exit_code] : all) add_fields(ask(words, exit_code), fields);
  EXPECT_EQ(fields, (std::set<std::string>{"already_there",
                                           "budget",
                                           "busy",
                                           "bytes",
                                           "code",
                                           "compiler",
                                           "compilers",
                                           "counts",
                                           "damaged",
                                           "different",
                                           "dry_run",
                                           "entries",
                                           "field",
                                           "finished",
                                           "fix",
                                           "found",
                                           "good",
                                           "here",
                                           "hit",
                                           "imported",
                                           "kept",
                                           "key",
                                           "kind",
                                           "left_out",
                                           "line",
                                           "log",
                                           "miss",
                                           "nearest",
                                           "not_entries",
                                           "not_written",
                                           "other_compiler",
                                           "rebuilt",
                                           "removed",
                                           "removed_bytes",
                                           "root",
                                           "roots",
                                           "sha256",
                                           "specialization",
                                           "temporaries",
                                           "there",
                                           "warnings",
                                           "what",
                                           "young"}));
}

TEST_F(CacheJson, PathNamesTheRootsInUseAndThoseLeftOut) {
  const std::string root = warmed();
  EXPECT_EQ(ask({"cache", "path"}),
            Json({{"roots", {{{"root", root}, {"kind", "rw"}}}}, {"left_out", Json::array()}}));
  diecast_.set("DIECAST_CACHE", "bundle:/nonexistent/k.dcb,ro:" + root);
  const Json path = ask({"cache", "path"}, 1);
  EXPECT_EQ(path.at("roots"), Json({{{"root", root}, {"kind", "ro"}}}));
  const Json out = path.at("left_out").at(0);
  EXPECT_EQ(out.at("root"), "/nonexistent/k.dcb");
  EXPECT_EQ(out.at("kind"), "bundle");
  EXPECT_EQ(out.at("code"), "file_not_found");
  EXPECT_NE(out.at("what").get<std::string>().find("cannot open "), std::string::npos);
  EXPECT_NE(out.at("fix"), "");
}

// A root that is only read has its entries, its bytes and what was done while it was filled; what
// it gives since is among the counts of the root that is written.
TEST_F(CacheJson, StatsHaveTheCountsOfEveryRoot) {
  const std::string shipped = warmed(), bundle = diecast_.folder / "k.dcb",
                    mine = diecast_.folder / "mine";
  ASSERT_EQ(diecast_({"bundle", "export", "-o", bundle}).exit_code, 0);
  diecast_.set("DIECAST_CACHE", "ro:" + shipped + ",bundle:" + bundle + ",rw:" + mine);
  ASSERT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
  const Json stats = ask({"cache", "stats"});
  ASSERT_EQ(stats.at("roots").size(), 3u);
  const Json read = stats.at("roots").at(0), packed = stats.at("roots").at(1),
             written = stats.at("roots").at(2);
  std::uint64_t bytes = 0;
  for (const std::string& name : tree(shipped))
    if (name.ends_with(".dce")) bytes += std::filesystem::file_size(shipped + "/" + name);
  for (const Json& root : {read, packed}) {
    EXPECT_EQ(root.at("entries"), 3);
    EXPECT_EQ(root.at("bytes"), bytes);
    EXPECT_EQ(root.at("compilers").at(0).at("entries"), 3);
  }
  EXPECT_EQ(read.at("kind"), "ro");
  EXPECT_EQ(read.at("counts").at("compiled"), 3);
  EXPECT_EQ(read.at("counts").at("root_misses"), 3);
  EXPECT_EQ(packed.at("counts"), Json::object());
  EXPECT_EQ(written.at("entries"), 0);
  EXPECT_EQ(written.at("counts").at("compiled"), 0);
  EXPECT_EQ(written.at("counts").at("disk_hits"), 3);
  EXPECT_EQ(written.at("counts").at("other_hits"), 3);
  EXPECT_EQ(written.at("counts").at("root_hits"), 0);
  const std::string table = diecast_({"cache", "stats"}).output;
  EXPECT_NE(table.find("\nro:" + shipped + " "), std::string::npos) << table;
  EXPECT_NE(table.find("\nsince the root was made"), std::string::npos) << table;
}

TEST_F(CacheJson, VerifyNamesEachDamagedEntry) {
  const std::string file = damage(warmed());
  const Json verified = ask({"cache", "verify"}, 1);
  EXPECT_EQ(verified.at("good"), 2);
  ASSERT_EQ(verified.at("damaged").size(), 1u);
  const Json damaged = verified.at("damaged").at(0);
  EXPECT_EQ(damaged.at("file"), file);
  EXPECT_EQ(damaged.at("fault"), "bad_checksum");
  EXPECT_EQ(damaged.at("key").get<std::string>() + ".dce", file.substr(file.rfind('/') + 1));
  const Json stats = ask({"cache", "stats"}).at("roots").at(0);
  EXPECT_EQ(stats.at("entries"), 2);
  EXPECT_EQ(stats.at("not_entries"), Json({{"bad_checksum", 1}}));
  const std::string bundle = diecast_.folder / "k.dcb";
  const Json exported = ask({"bundle", "export", "-o", bundle}, 1);
  EXPECT_EQ(exported.at("entries"), 2);
  EXPECT_EQ(exported.at("damaged").at(0), damaged);
  diecast_.set("DIECAST_FAKE_NVRTC_SEED", "2");
  const Json rebuilt = ask({"cache", "verify", "--rebuild"}, 1);
  EXPECT_EQ(rebuilt.at("rebuilt"), 2);
  EXPECT_EQ(rebuilt.at("different").size(), 2u);
}

TEST_F(CacheJson, BundlesHaveTheirPin) {
  (void)warmed();
  const std::string bundle = diecast_.folder / "k.dcb";
  const Json made = ask({"bundle", "create", manifest(), "-o", bundle});
  EXPECT_EQ(made.at("root"), bundle);
  EXPECT_EQ(made.at("kind"), "bundle");
  EXPECT_EQ(made.at("entries"), 3);
  EXPECT_EQ(made.at("bytes"), std::filesystem::file_size(bundle));
  Json verified = ask({"bundle", "verify", bundle, "--sha256", made.at("sha256")});
  verified["damaged"] = Json::array();
  EXPECT_EQ(verified, made);
  EXPECT_EQ(ask({"cache", "clear"}).at("removed"), 3);
  const Json imported = ask({"bundle", "import", bundle});
  EXPECT_EQ(imported.at("imported"), 3);
  EXPECT_EQ(imported.at("not_written"), 0);
}

}  // namespace
}  // namespace diecast
