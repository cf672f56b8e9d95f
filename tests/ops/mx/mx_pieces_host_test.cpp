// quantize_mx_tiles and quantize_mx as GPUs run them, on this processor: pieces of a matrix in
// shared memory, maxima that lanes find together (mx_piece.h); halves of blocks, a lane each. The
// host itself goes down columns and takes whole blocks, so these templates are copies with that one
// condition turned. Every output is poisoned before and equal to the reference.
#include <gtest/gtest.h>

#include <ostream>

#include "how_many.h"
#include "ops/changed_templates.h"

namespace diecast {
namespace {

using variants::Covered;

// How rows lie, and whether codes are bytes or two a byte: what a piece's reads and writes go by.
struct Pieces {
  const char* name;
  const char* rows;
  bool packed;
};

void PrintTo(const Pieces& pieces, std::ostream* to) { *to << pieces.name; }

class MxPieces : public testing::ChangedTemplates, public ::testing::WithParamInterface<Pieces> {};

TEST_P(MxPieces, EqualTheReferenceToTheBit) {
  change("quantize_mx_tiles.cu", "(!DIECAST_HOST)", "1");
  change("quantize_mx_tiles.cu", "= host ? 1 : ", "= ");
  ASSERT_FALSE(HasFailure());
  const auto wanted = [](const Bindings& one) {
    return one.find("COLS")->spelling() == "0" && one.find("ROWS")->word == GetParam().rows &&
           (one.find("FORMAT")->word == "mxfp4") == GetParam().packed;
  };
  expect_equal("quantize_mx_tiles", wanted,
               testing::how_many(Covered::values, Covered::pairs, Covered::pairs),
               [](const Specialization& one) { return variants::cases_of(one); });
}

INSTANTIATE_TEST_SUITE_P(Ways, MxPieces,
                         ::testing::Values(Pieces{"bytes", "apart", false},
                                           Pieces{"bytes_anywhere", "any", false},
                                           Pieces{"packed", "apart", true},
                                           Pieces{"packed_anywhere", "any", true}),
                         [](const auto& info) { return info.param.name; });

using MxHalves = testing::ChangedTemplates;

TEST_F(MxHalves, EqualTheReferenceToTheBit) {
  change("quantize_mx.cu", " && !DIECAST_HOST", "");
  change("quantize_mx.cu", "exchange none ", "exchange warp ");
  ASSERT_FALSE(HasFailure());
  // Rows of one to 181 halves, an odd number of them or an even one, in more warps than a row has.
  expect_equal(
      "quantize_mx",
      [](const Bindings& one) {
        return one.find("ROWS")->word == "apart" && one.find("LAYOUT")->word == "linear" &&
               one.find("SCALES_APART")->spelling() == "0";
      },
      testing::how_many(Covered::values, Covered::pairs, Covered::pairs),
      [](const Specialization& one) {
        std::vector<variants::Case> cases = variants::cases_of(one);
        if (one.bindings().find("COLS")->spelling() != "0") return cases;
        for (const std::int64_t cols : {16, 32, 48, 80, 464, 2096, 2896}) {
          cases.push_back({129, cols, false, cols == 80, static_cast<unsigned>(cols)});
        }
        return cases;
      });
}

}  // namespace
}  // namespace diecast
