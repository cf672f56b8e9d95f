// What may vary in a linear layer, dense or of experts.
/* diecast
use    <diecast/device/linear/packed_tile.h>         // FORMAT
option type  IN  {bf16, f16}                         // element type of x and bias
option type  OUT {bf16, f16, f32}                    // element type of out and residual
option enum  ACTIVATION {none, silu_and_mul, swiglu_oai, relu2} = none
option float ALPHA = 1.702                           // of swiglu_oai: the sigmoid's factor
option float LIMIT = 7                               // of swiglu_oai: bounds gate above and the other factor on both sides
option int   SPLIT {1, 2, 4, 8} = 1                  // parts of the depth, whose sums are added in order
let    GATED = ACTIVATION in {silu_and_mul, swiglu_oai}  // weights alternate by 8 rows: gate, then what it multiplies
*/
#pragma once

#include <diecast/device/linear/packed_tile.h>
