// How often a conversion reads what it converts.
#include <checkpoint/convert_fixture.h>
#include <fake_file_system.h>

#include <algorithm>

namespace diecast::testing {
namespace {

class ConvertReads : public Convert {};

// What is held; of others the second reading is what memory is bounded by.
TEST_F(ConvertReads, WeightsThatAreHeldAreReadOnce) {
  constexpr std::uint64_t kBytes = 2 * 4 * 32 * 2;
  TestFile file;
  file.tensors["l.0.gate_proj.weight"] = random_tensor("BF16", {4, 32}, 1);
  file.tensors["l.0.up_proj.weight"] = random_tensor("BF16", {4, 32}, 2);
  const auto reads = [&](std::uint64_t piece, std::uint64_t held) {
    FakeFileSystem files;
    ConvertOptions options;
    options.piece_bytes = piece;
    options.held_bytes = held;
    EXPECT_TRUE(quantize(file, {}, options, files));
    return std::ranges::count(files.names(), "read_at");
  };
  constexpr int kHeader = 2;
  EXPECT_EQ(reads(kBytes, kBytes), kHeader + 2);
  EXPECT_EQ(reads(kBytes / 4, kBytes), kHeader + 4);
  EXPECT_EQ(reads(kBytes / 4, kBytes - 1), kHeader + 8);
}

}  // namespace
}  // namespace diecast::testing
