// quantize_nvfp4_tiles as GPUs that do not convert to E2M1 run it, on this processor: blocks the
// short way (ordinary_codes.h), two at once, and of both sides in stripes (tile_stripes.h). The
// host itself goes a recipe's own way, so these templates are a copy with that one condition taken
// out. Every output is poisoned before and equal to the reference to the bit.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "how_many.h"
#include "ops/changed_templates.h"

namespace diecast {
namespace {

using variants::Covered;

// What a variant does with blocks and tiles, as the template's own constants say.
struct Way {
  const char* name;
  const char* holds;
  bool has_room;  // for a tile's stripes, in a multiprocessor's shared memory
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
  const bool both = has(b, "SIDES", "both"), square = has(b, "BLOCK_ROWS", "16");
  const bool together = !has(b, "IN", "e4m3") && has(b, "RHT", "none") &&
                        has(b, "ROW_SCALE", "0") && !(square && both) && has(b, "ROWS", "apart");
  const bool in_stripes = together && both;
  const std::string name = way.name;
  if (has(b, "IN", "f32")) return false;
  if (name == "one_by_one") return !together;
  return name == "together" ? together && !in_stripes : in_stripes;
}

// Every pattern of 16 bits; then one block, a whole tile, what is short of one, where ROWS lets it
// of a block too, and two rows of tiles below a whole band. Rows apart, a count of them in
// device memory; of odd seeds NaN and infinities, of one that 3 divides blocks that are cut off.
std::vector<variants::Case> cases_of(const Specialization& one) {
  std::vector<variants::Case> cases = variants::pattern_cases(one);
  if (one.bindings().find("IN")->word == "e4m3") cases.clear();
  const std::vector<variants::Case> others = {
      {1, 16, false, false, 1},   {17, 272, true, true, 2},    {275, 304, true, false, 3},
      {130, 528, false, true, 4}, {128, 256, false, false, 5}, {1154, 272, true, false, 7}};
  cases.insert(cases.end(), others.begin(), others.end());
  const bool any = one.bindings().find("ROWS")->word == "any";
  for (variants::Case& on : cases) on.cols -= any && !on.patterns && on.rows % 2 != 0 ? 7 : 0;
  return cases;
}

class TilesShortWay : public testing::ChangedTemplates,
                      public ::testing::WithParamInterface<Way> {};

TEST_P(TilesShortWay, EqualsTheReferenceToTheBit) {
  const Way way = GetParam();
  const std::string tiles = "quantize_nvfp4_tiles.cu", kernel_begins = "\nDIECAST_KERNEL {";
  change("device/nvfp4/nvfp4_ordinary.h", " && !DIECAST_HOST;", ";");
  change(tiles, "!host && (cc < 86 || cc == 90)", way.has_room ? "true" : "false");
  change(tiles, kernel_begins, cat("\nstatic_assert(", way.holds, ");", kernel_begins));
  ASSERT_FALSE(HasFailure());
  expect_equal(
      "quantize_nvfp4_tiles", [&](const Bindings& bindings) { return goes(way, bindings); },
      testing::how_many(Covered::values, Covered::pairs, Covered::pairs), cases_of);
}

INSTANTIATE_TEST_SUITE_P(Ways, TilesShortWay,
                         ::testing::Values(Way{"one_by_one", "kOrdinary && !kTogether", true},
                                           Way{"together", "kTogether && !STRIPED", true},
                                           Way{"in_pieces", "kTogether && kBoth && !STRIPED",
                                               false},
                                           Way{"in_stripes", "STRIPED", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace diecast
