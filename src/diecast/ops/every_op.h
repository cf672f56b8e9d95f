// The list of ops, by what preparing them gives: what goes over all of them goes over this list.
#pragma once

#include <diecast/ops/amax/amax.h>
#include <diecast/ops/amax/amax_grouped.h>
#include <diecast/ops/fake/fp4_fake_quant.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>
#include <diecast/ops/gemm/gemm_unpacked.h>
#include <diecast/ops/layout/arrange_scales.h>
#include <diecast/ops/layout/transpose_nvfp4.h>
#include <diecast/ops/linear/combine_experts.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/linear_experts.h>
#include <diecast/ops/linear/pack_linear.h>
#include <diecast/ops/mx/dequantize_mx.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/mx/quantize_mx_grouped.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_grouped.h>
#include <diecast/ops/weights/master_weights.h>
#include <diecast/ops/weights/post_all_gather.h>

#include <tuple>
#include <type_traits>

namespace diecast {

using EveryOp =
    std::tuple<PreparedAmax, PreparedAmaxGrouped, PreparedArrangeScales, PreparedCombineExperts,
               PreparedComputeFp4Scales, PreparedDequantizeMx, PreparedDequantizeNvfp4,
               PreparedFp4FakeQuantBlock, PreparedGemmCublaslt, PreparedGemmNvfp4,
               PreparedGemmUnpacked, PreparedLinear, PreparedLinearExperts, PreparedMasterCast,
               PreparedPackLinear, PreparedPostAllGather, PreparedQuantizeMx,
               PreparedQuantizeMxGrouped, PreparedQuantizeNvfp4, PreparedQuantizeNvfp4Grouped,
               PreparedStaticFp4FakeQuant, PreparedTransposeCodes, PreparedTransposeNvfp4,
               PreparedUnpackLinear>;

// Those of them that C and Python lack.
using EveryOpOfCppAlone =
    std::tuple<PreparedAmaxGrouped, PreparedGemmCublaslt, PreparedGemmUnpacked, PreparedMasterCast,
               PreparedPostAllGather>;

// Calls `visit(std::type_identity<Prepared>{})` for each op of a list.
template <class Ops = EveryOp, class Visit>
void for_each_op(Visit&& visit) {
  [&]<class... Prepared>(std::type_identity<std::tuple<Prepared...>>) {
    (visit(std::type_identity<Prepared>{}), ...);
  }(std::type_identity<Ops>{});
}
// The same for the requests that they are prepared for.
template <class Visit>
void for_each_request(Visit&& visit) {
  for_each_op([&]<class Prepared>(std::type_identity<Prepared>) {
    visit(std::type_identity<typename Prepared::Request>{});
  });
}

}  // namespace diecast
