// The order of a matrix's factors.
/* diecast
option enum ORDER {linear, tiled} = linear   // where a row's factor lies
let    ORDER_ROWS = ORDER == tiled ? 128 : 1 // rows of a tile
require ORDER == linear || COLS > 0          // a tile has a row length
*/
#pragma once
#include <diecast/device/unit.h>
template <int Order>
constexpr int tile_rows() {
  return Order == ORDER_tiled ? 128 : kUnit;
}
