// quantize_nvfp4_tiles as GPUs that do not convert to E2M1 run it, on this processor: blocks the
// short way (ordinary_codes.h), two at once, and of both sides in stripes (tile_stripes.h). The
// host itself goes a recipe's own way, so these templates are a copy with that one condition taken
// out. Every output is poisoned before and equal to the reference to the bit.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>

#include "how_many.h"
#include "ops/covering.h"
#include "ops/host_device_test.h"
#include "ops/variants.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using variants::Covered;

// What a variant does with blocks and tiles, as the template's own constants say.
struct Way {
  const char* name;
  const char* holds;
  bool has_room;     // for a tile's stripes, in a multiprocessor's shared memory
  Covered everyday;  // of its variants
};

void PrintTo(const Way& way, std::ostream* to) { *to << way.name; }

bool has(const Bindings& bindings, const std::string& name, const std::string& value) {
  return bindings.find(name)->spelling() == value;
}

// Of the variants that take any short way: those of this one.
bool goes(const Way& way, const Bindings& b) {
  for (const auto& [name, value] : {std::pair{"PROFILE", "te"},
                                    {"GLOBAL", "amax"},
                                    {"FOUR_OVER_SIX", "off"},
                                    {"STOCHASTIC", "0"},
                                    {"BLOCK_AMAX", "0"},
                                    {"BOUND", "448"}}) {
    if (!has(b, name, value)) return false;
  }
  const bool both = has(b, "DIRECTION", "both"), square = has(b, "BLOCK_ROWS", "16");
  const bool together = !has(b, "IN", "e4m3") && has(b, "RHT", "none") &&
                        has(b, "ROW_SCALE", "0") && !(square && both) && has(b, "ROWS", "apart");
  const bool in_stripes = together && both;
  const std::string name = way.name;
  if (has(b, "IN", "f32")) return false;
  if (name == "one_by_one") return !together;
  return name == "together" ? together && !in_stripes : in_stripes;
}

// Every pattern of 16 bits; then one block, a whole tile, what is short of one, where ROWS lets it
// of a block too, and a short band of tiles behind a whole one. Rows apart, a count of them in
// device memory; of odd seeds NaN and infinities, of one that 3 divides blocks that are cut off.
std::vector<variants::Case> cases_of(const Specialization& one) {
  std::vector<variants::Case> cases = variants::pattern_cases(one);
  if (one.bindings().find("IN")->word == "e4m3") cases.clear();
  const std::vector<variants::Case> others = {
      {1, 16, false, false, 1},   {17, 272, true, true, 2},    {275, 304, true, false, 3},
      {130, 528, false, true, 4}, {128, 256, false, false, 5}, {650, 528, true, false, 7}};
  cases.insert(cases.end(), others.begin(), others.end());
  const bool any = one.bindings().find("ROWS")->word == "any";
  for (variants::Case& on : cases) on.cols -= any && !on.patterns && on.rows % 2 != 0 ? 7 : 0;
  return cases;
}

class TilesShortWay : public HostDeviceTest, public ::testing::WithParamInterface<Way> {
 protected:
  // The built-in templates, or those that DIECAST_TEMPLATE_DIR names.
  TilesShortWay() {
    options_ = RuntimeOptions::from_environment();
    std::string from = options_.template_directory;
    if (from.empty()) from = DIECAST_SOURCE_DIR "/templates";
    std::filesystem::copy(from, folder_.path(), std::filesystem::copy_options::recursive);
    options_.template_directory = folder_.path();
    options_.cache = std::string(DIECAST_BUILD_DIR) + "/test-cache";
  }

  void change(const std::string& file, const std::string& text, const std::string& instead) {
    std::string all = testing::text_of(folder_ / file);
    const auto at = all.find(text);
    if (at == std::string::npos) FAIL() << file << " has no \"" << text << "\" to change";
    testing::write_text(folder_ / file, all.replace(at, text.size(), instead));
  }

  testing::TemporaryDirectory folder_;
  RuntimeOptions options_;
};

TEST_P(TilesShortWay, EqualsTheReferenceToTheBit) {
  const Way way = GetParam();
  const std::string tiles = "quantize_nvfp4_tiles.cu", kernel_begins = "\nDIECAST_KERNEL {";
  change("device/nvfp4_ordinary.h", " && !DIECAST_HOST;", ";");
  if (!way.has_room) change(tiles, "(DIECAST_CC < 86 || DIECAST_CC == 90)", "false");
  change(tiles, kernel_begins, cat("\nstatic_assert(", way.holds, ");", kernel_begins));
  ASSERT_FALSE(HasFailure());
  const auto runtime = Runtime::create(options_).value();
  const auto tmpl = runtime->find_template("quantize_nvfp4_tiles").value();
  const Target target = device_->targets().front();
  auto space = tmpl->space(target).value();
  std::erase_if(space, [&](const Bindings& bindings) { return !goes(way, bindings); });
  const auto covered = testing::how_many(way.everyday, Covered::pairs, Covered::pairs);
  std::vector<Specialization> specializations;
  for (const Bindings& bindings : variants::covering_set(space, covered)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  ASSERT_FALSE(specializations.empty());
  for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
    EXPECT_EQ(outcome.resolved->artifact->log, "") << outcome.specialization->spelling();
  }
  for (const Specialization& one : specializations) {
    const auto kernel = runtime->preload(one, device_).value();
    for (const variants::Case& on : cases_of(one)) {
      EXPECT_EQ(variants::difference(*kernel, on), "");
    }
  }
  RecordProperty("variants", static_cast<int>(specializations.size()));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, TilesShortWay,
    ::testing::Values(Way{"one_by_one", "kOrdinary && !kTogether", true, Covered::values},
                      Way{"together", "kTogether && !kStriped", true, Covered::values},
                      Way{"in_pieces", "kTogether && kBoth && !kStriped", false, Covered::values},
                      Way{"in_stripes", "kStriped", true, Covered::pairs}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace diecast
