// diecast show: all that a header says, in the table and in JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::ToolRun;

constexpr const char* kEverything = R"(// all: one of each.
/* diecast
shape  int  COLS                        // row length
option type IN {bf16, f32}
tune   int  waves {1, 8} = 8
size   rows device
size   cols = COLS divisible 16
arg    x     in    IN [rows, cols] stride align 16
arg    y     inout f32 [rows]
arg    rows
arg    cols
arg    eps   f32
arg    group struct Group 24
arg    map   tensor_map
let    ROW = COLS * bits(f32) / 8       // bytes of a row
require COLS % 16 == 0                  // whole blocks
launch grid(rows, waves) block(32)
launch shared(ROW) cluster(2) resident(4) dependent
target sm_90a, sm_100f
exchange warp
sample COLS {16, 32} rows {0, 7}
*/
struct Group { i64 a, b, c; };
DIECAST_KERNEL {}
)";

TEST(Show, PrintsEveryLineOfAHeader) {
  ToolRun diecast;
  testing::write_text(diecast.folder / "all.cu", kEverything);
  const auto run = diecast({"show", "all", "--add", diecast.folder / "all.cu"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(
      run.output,
      "all: one of each.\n"
      "\n"
      "kind    parameter  values                   default        meaning\n"
      "shape   COLS       an integer of 0 or more  must be given  row length\n"
      "option  IN         bf16, f32                must be given\n"
      "tune    waves      1, 8                     8\n"
      "\n"
      "argument  direction  type          shape         facts\n"
      "x         in         IN            [rows, cols]  rows may be apart; aligned to 16\n"
      "y         inout      f32           [rows]\n"
      "rows      in         i64                         a number, or in device memory\n"
      "cols      in         i64                         fixed by COLS unless it is 0; a multiple "
      "of 16\n"
      "eps       in         f32\n"
      "group     in         struct Group                24 bytes\n"
      "map       in         tensor_map                  128 bytes\n"
      "\n"
      "let      ROW = COLS * bits(f32) / 8  (bytes of a row)\n"
      "require  COLS % 16 == 0  (whole blocks)\n"
      "launch   grid(rows, waves) block(32) resident(4) shared(ROW) cluster(2) dependent\n"
      "exchange warp\n"
      "sample   COLS {16, 32}\n"
      "sample   rows {0, 7}\n"
      "targets  sm_90a, sm_100f\n");
}

TEST(Show, SaysTheSameInJson) {
  ToolRun diecast;
  testing::write_text(diecast.folder / "all.cu", kEverything);
  const auto shown =
      json::parse(diecast({"show", "all", "--add", diecast.folder / "all.cu", "--json"}).output);
  EXPECT_EQ(shown.at("parameters").size(), 3u);
  EXPECT_EQ(shown.at("arguments").at(0), json::parse(R"({"name": "x", "kind": "tensor",
      "direction": "in", "type": "IN", "shape": "[rows, cols]",
      "facts": "rows may be apart; aligned to 16"})"));
  EXPECT_EQ(shown.at("arguments").at(2).at("facts"), "a number, or in device memory");
  EXPECT_EQ(shown.at("arguments").at(5).at("kind"), "struct");
  EXPECT_EQ(shown.at("requirements"),
            json::parse(R"([{"condition": "COLS % 16 == 0", "reason": "whole blocks"}])"));
  EXPECT_EQ(shown.at("lets"), json::parse(R"([{"name": "ROW", "value": "COLS * bits(f32) / 8",
      "meaning": "bytes of a row"}])"));
  EXPECT_EQ(shown.at("launch"),
            "grid(rows, waves) block(32) resident(4) shared(ROW) cluster(2) dependent");
  EXPECT_EQ(shown.at("exchange"), "warp");
  EXPECT_EQ(shown.at("samples"), json::parse(R"({"COLS": [16, 32], "rows": [0, 7]})"));
  EXPECT_EQ(shown.at("targets"), "sm_90a, sm_100f");

  testing::write_text(diecast.folder / "none.cu",
                      "/* diecast\nlaunch grid(1) block(1)\n*/\nDIECAST_KERNEL {}\n");
  const auto none =
      json::parse(diecast({"show", "none", "--add", diecast.folder / "none.cu", "--json"}).output);
  for (const char* list : {"parameters", "arguments", "lets", "requirements"})
    EXPECT_EQ(none.at(list), json::array()) << list;
}

}  // namespace
}  // namespace diecast
