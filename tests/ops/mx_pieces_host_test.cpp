// quantize_mx_tiles as GPUs run it, on this processor: pieces of a matrix in shared memory, maxima
// that lanes find together (mx_piece.h). The host itself goes down columns, so this template is a
// copy with that one condition turned. Every output is poisoned before and equal to the reference.
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

}  // namespace
}  // namespace diecast
