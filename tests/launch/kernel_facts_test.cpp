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
                                                  "arg x in f32 [rows, cols] stride (!WHOLE)\n"
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
  const auto pack = [&](std::int64_t stride, std::int64_t cols) {
    const Argument given[] = {Argument::tensor(DType::f32, address(0x1000), stride),
                              Argument::size(2), Argument::size(cols)};
    const auto done = check.pack(given, values, packed);
    return done ? std::string() : done.error().message();
  };
  EXPECT_EQ(pack(0, 32), "");
  EXPECT_EQ(pack(32, 32), "");
  EXPECT_EQ(
      pack(0, 33),
      "diecast: shape_mismatch: k WHOLE=1 @ sm_90a: `cols` is 33, no multiple of 16, which the "
      "kernel was made for\n"
      "  fix: line 4 of the header says which specialization takes any");
  EXPECT_NE(pack(48, 32).find("takes dense rows of 32"), std::string::npos) << pack(48, 32);
}

}  // namespace
}  // namespace diecast
