// How often a conversion reads what it converts.
#include <checkpoint/convert_fixture.h>
#include <fake_file_system.h>

#include <algorithm>

namespace diecast::testing {
namespace {

class ConvertReads : public Convert {};

// One that is one piece; of several the second reading is what memory is bounded by.
TEST_F(ConvertReads, AWeightThatIsOnePieceIsReadOnce) {
  TestFile file;
  file.tensors["l.0.a.weight"] = random_tensor("BF16", {4, 32}, 1);
  const auto reads = [&](std::uint64_t piece) {
    FakeFileSystem files;
    ConvertOptions options;
    options.piece_bytes = piece;
    EXPECT_TRUE(quantize(file, {}, options, files));
    return std::ranges::count(files.names(), "read_at");
  };
  constexpr int kHeader = 2;
  EXPECT_EQ(reads(4 * 32 * 2), kHeader + 1);
  EXPECT_EQ(reads(2 * 32 * 2), kHeader + 4);
}

}  // namespace
}  // namespace diecast::testing
