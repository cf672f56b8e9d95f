// The list of ops, by their requests: what goes over all of them goes over this list.
#pragma once

#include <diecast/ops/amax/amax.h>
#include <diecast/ops/amax/amax_grouped.h>
#include <diecast/ops/fake/fp4_fake_quant.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>
#include <diecast/ops/layout/arrange_scales.h>
#include <diecast/ops/layout/transpose_nvfp4.h>
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

using EveryRequest =
    std::tuple<AmaxRequest, AmaxGroupedRequest, ArrangeScalesRequest, ComputeFp4ScalesRequest,
               DequantizeMxRequest, DequantizeNvfp4Request, Fp4FakeQuantBlockRequest,
               GemmCublasltRequest, GemmNvfp4Request, MasterCastRequest, PostAllGatherRequest,
               QuantizeMxGroupedRequest, QuantizeMxRequest, QuantizeNvfp4GroupedRequest,
               QuantizeNvfp4Request, StaticFp4FakeQuantRequest, TransposeCodesRequest,
               TransposeNvfp4Request>;

// Calls `visit(std::type_identity<Request>{})` for each request of the list.
template <class Visit>
void for_each_request(Visit&& visit) {
  [&]<class... Request>(std::type_identity<std::tuple<Request...>>) {
    (visit(std::type_identity<Request>{}), ...);
  }(std::type_identity<EveryRequest>{});
}

}  // namespace diecast
