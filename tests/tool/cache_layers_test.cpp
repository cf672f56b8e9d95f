// The cache's subcommands over several roots, some of which take or have nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::ToolRun;
using testing::tree;

class CacheLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_text(manifest_, "amax IN=bf16,f16 @ sm_90a\n");
    ASSERT_EQ(diecast_({"warm", manifest_}).exit_code, 0);
  }
  ToolRun diecast_;
  const std::string manifest_ = diecast_.folder / "manifest.txt";
  const std::string bundle_ = diecast_.folder / "k.dcb";
};

// As warming does: a root that refuses is passed over for the next.
TEST_F(CacheLayers, AnImportGoesToTheFirstRootThatTakesIt) {
  ASSERT_EQ(diecast_({"bundle", "export", "-o", bundle_}).exit_code, 0);
  const std::string refusing = diecast_.folder / "refusing", taking = diecast_.folder / "taking";
  std::string compiler;
  for (const std::string& name : tree(diecast_.cache_path()))
    if (name.starts_with("v1/nvrtc-") && name.find('/', 3) == std::string::npos) compiler = name;
  ASSERT_NE(compiler, "");
  diecast_.set("DIECAST_CACHE", refusing);
  ASSERT_EQ(diecast_({"cache", "clear"}).exit_code, 0);  // makes the root
  testing::write_text(refusing + "/" + compiler, "a file where a folder should be");
  diecast_.set("DIECAST_CACHE", "rw:" + refusing + ",rw:" + taking);
  const auto imported = json::parse(diecast_({"bundle", "import", bundle_, "--json"}).output);
  EXPECT_EQ(imported.at("imported"), 2);
  EXPECT_EQ(imported.at("not_written"), 0);
  diecast_.set("DIECAST_CACHE", taking);
  EXPECT_EQ(diecast_({"cache", "verify"}).output, "2 good, 0 damaged\n");
}

// A bundle without the kernels of a root that could not be read is written, and is no success.
TEST_F(CacheLayers, AnExportSaysThatARootIsLeftOut) {
  diecast_.set("DIECAST_CACHE", "ro:/nonexistent/cache,rw:" + diecast_.cache_path());
  const auto run = diecast_({"bundle", "export", "-o", bundle_, "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const auto exported = json::parse(run.output);
  EXPECT_EQ(exported.at("entries"), 2);
  EXPECT_EQ(exported.at("left_out").at(0).at("root"), "/nonexistent/cache");
  const auto text = diecast_({"bundle", "export", "-o", bundle_});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.output.find("1 root left out: `diecast cache path` says why\n"), 0u)
      << text.output;
}

TEST_F(CacheLayers, PruneOfNoDaysRemovesWhatIsNotInUseNow) {
  for (const std::string& name : tree(diecast_.cache_path())) {
    if (!name.ends_with(".dce")) continue;
    const struct timeval days_ago[2] = {{::time(nullptr) - 3 * 86400, 0},
                                        {::time(nullptr) - 3 * 86400, 0}};
    ASSERT_EQ(::utimes((diecast_.cache_path() + "/" + name).c_str(), days_ago), 0);
  }
  const auto removed = [&](const char* days) {
    return json::parse(
               diecast_({"cache", "prune", "--unused-days", days, "--dry-run", "--json"}).output)
        .at("removed");
  };
  EXPECT_EQ(removed("4"), 0);
  EXPECT_EQ(removed("0"), 2);
  EXPECT_EQ(json::parse(diecast_({"cache", "prune", "--json"}).output).at("removed"), 0);
}

}  // namespace
}  // namespace diecast
