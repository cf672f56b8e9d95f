// Facts that only some specializations have: sizes that are a multiple of something, dense rows.
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::address;
using Argument = KernelArgument;

TEST(ArgumentCheck, HoldsASizeToItsDivisorAndDenseRowsToTheRowLength) {
  const auto specialization = testing::specialize("k",
                                                  "/* diecast\n"
                                                  "shape bool WHOLE = true\n"
                                                  "size rows\n"
                                                  "size cols divisible (WHOLE ? 16 : 1)\n"
                                                  "arg x in f32 [rows, cols] stride (!WHOLE) "
                                                  "align (WHOLE ? 16 : 4)\n"
                                                  "arg rows\n"
                                                  "arg cols\n"
                                                  "launch grid(rows) block(32)\n"
                                                  "target sm_80+\n"
                                                  "*/\nDIECAST_KERNEL {}\n",
                                                  {});
  const auto slots = LaunchSlots::make(specialization).value();
  const auto check = ArgumentCheck::make(specialization, slots).value();
  EXPECT_EQ(check.parameter_bytes(), (std::vector<std::size_t>{8, 8, 8}));
  LaunchSlots::Values values{};
  PackedParameters packed{};
  const auto pack = [&](std::int64_t stride, std::int64_t cols, std::uintptr_t at = 0x1000) {
    const Argument given[] = {Argument::tensor(DType::f32, address(at), stride), Argument::size(2),
                              Argument::size(cols)};
    const auto done = check.pack(given, values, packed);
    return done ? std::string() : done.error().message();
  };
  EXPECT_EQ(pack(0, 32), "");
  EXPECT_EQ(pack(32, 32), "");
  EXPECT_EQ(
      pack(0, 33),
      "diecast: shape_mismatch: k WHOLE=1 @ sm_90a: `cols` is 33, no multiple of 16, which the "
      "kernel was made for\n"
      "  fix: give a multiple of 16, or specialize where less will do: divisible "
      "(WHOLE ? 16 : 1)");
  EXPECT_EQ(pack(48, 32),
            "diecast: shape_mismatch: k WHOLE=1 @ sm_90a: `x` has rows 48 elements apart; the "
            "kernel takes dense rows of 32\n"
            "  fix: copy x to dense rows, or specialize where they may be apart: (!WHOLE)");
  EXPECT_EQ(pack(0, 32, 0x1004),
            "diecast: misaligned: k WHOLE=1 @ sm_90a: `x` starts 4 bytes past a multiple of 16\n"
            "  fix: start it at a multiple of 16 bytes, or specialize where less "
            "will do: align "
            "(WHOLE ? 16 : 4)");
}

// A row that is a size rounded up to a power of two keeps the alignment whatever the size; one that
// is not is held to it, and neither may leave 64 bits.
TEST(ArgumentCheck, KnowsRoundedRowsButNotOthers) {
  const auto specialization = testing::specialize("k",
                                                  "/* diecast\n"
                                                  "size rows\n"
                                                  "size cols divisible 24\n"
                                                  "arg codes in u8 [rows, align_up(cols, 16) / 2] "
                                                  "align 8\n"
                                                  "arg other in u8 [rows, cols / 2] align 8\n"
                                                  "arg rows\n"
                                                  "arg cols\n"
                                                  "launch grid(rows) block(32)\n"
                                                  "target sm_80+\n"
                                                  "*/\nDIECAST_KERNEL {}\n",
                                                  {});
  const auto slots = LaunchSlots::make(specialization).value();
  const auto check = ArgumentCheck::make(specialization, slots).value();
  LaunchSlots::Values values{};
  PackedParameters packed{};
  const auto pack = [&](std::int64_t cols, std::int64_t stride, std::int64_t other = 0) {
    const Argument given[] = {Argument::tensor(DType::u8, address(0x1000), stride),
                              Argument::tensor(DType::u8, address(0x2000), other),
                              Argument::size(2), Argument::size(cols)};
    const auto done = check.pack(given, values, packed);
    return done ? std::string() : done.error().message();
  };
  EXPECT_EQ(pack(48, 0), "");
  EXPECT_EQ(pack(48, 24), "");
  EXPECT_NE(pack(48, 32).find("takes dense rows of 24"), std::string::npos) << pack(48, 32);
  EXPECT_EQ(pack(24, 0),
            "diecast: misaligned: k @ sm_90a: `other` has rows 12 elements of 1 bytes apart, no "
            "multiple of 8 bytes\n"
            "  fix: make the row stride a multiple of 8 elements");
  EXPECT_NE(pack(49, 0).find("`cols` is 49, no multiple of 24"), std::string::npos) << pack(49, 0);
  EXPECT_EQ(pack(9223372036854775800, 0),
            "diecast: shape_mismatch: k @ sm_90a: `codes` has a row length beyond 64 bits\n"
            "  fix: pass smaller sizes");
}

}  // namespace
}  // namespace diecast
