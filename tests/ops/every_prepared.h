// Every prepared op of tensors and groups with operands that it takes, for the tests of what
// running one costs: on a fake GPU with FP4 tensor cores (or wgmma), with a fake cuBLASLt. Those of
// sharded weights take a rank's lists and are not among them (weights_on_fake_gpu.h).
#pragma once

#include <diecast/ops/group/describe_group.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/gemm_cublaslt.h"

namespace diecast {

class EveryPrepared : public GemmByCublasLt {
 protected:
  using Run = std::function<Result<void>()>;

  EveryPrepared() {
    group_.count = 2;
    group_.device_row_offsets = static_cast<const std::int64_t*>(at_256(24));
    group_.members = static_cast<MemberDescriptor*>(at_256(2 * sizeof(MemberDescriptor)));
    add_of_a_tensor();
    add_of_mx();
    add_of_groups();
    add_layouts();
    add_fake_quantization();
    add_products();
    add_linear();
  }

  // What an op runs, by the name of its class and by what else tells its runs apart.
  std::map<std::pair<std::string, std::string>, Run> runs_;
  // The same of ops that were made by default, by their names.
  std::map<std::pair<std::string, std::string>, Run> made_by_default_;

 private:
  template <class Prepared, class Call>
  void add(const std::string& name, const std::string& what,
           const typename Prepared::Request& request, const Call& call,
           std::shared_ptr<Device> device = nullptr) {
    if (device == nullptr) device = device_;
    const auto op =
        std::make_shared<const Prepared>(Prepared::prepare(*runtime_, device, request).value());
    runs_.emplace(std::pair(name, what), [op, call] { return call(*op); });
    made_by_default_.emplace(std::pair(std::string(Prepared::Request::kName), what),
                             [call] { return call(Prepared()); });
  }
  // The same GPU, were it of compute capability 9.0.
  std::shared_ptr<Device> hopper() {
    machine_.cuda->gpus[0].cc = 90;
    auto device = machine_.cuda.device();
    machine_.cuda->gpus[0].cc = 100;
    return device;
  }
  float* floats() { return static_cast<float*>(at_256(256)); }
  Tensor tensor(DType dtype, std::int64_t rows, std::int64_t cols) {
    return {at_256(rows * cols * 4), dtype, Shape{rows, cols}, 0, nullptr};
  }
  QuantizedTensor square_blocks() {
    QuantizedTensor out = tiled(64, 64);
    out.type.square = true;
    return out;
  }
  QuantizedTensor mx() {  // both directions
    QuantizedTensor out;
    out.type.format = Format::mxfp8_e4m3;
    out.shape = Shape{64, 64};
    out.rowwise = out.rowwise_sizes().value(), out.columnwise = out.columnwise_sizes().value();
    for (QuantizedSide* const side : {&out.rowwise, &out.columnwise}) {
      side->data = at_256(side->data_bytes);
      side->scale = at_256(side->scale_bytes);
    }
    return out;
  }
  // A group of two members like `out`, with the buffers for both.
  QuantizedGroup group_of(const QuantizedTensor& out) {
    QuantizedGroup group = group_;
    group.whole = out;
    group.whole.rowwise = group.rowwise_sizes().value();
    group.whole.columnwise = group.columnwise_sizes().value();
    for (QuantizedSide* const side : {&group.whole.rowwise, &group.whole.columnwise}) {
      side->data = at_256(side->data_bytes);
      side->scale = at_256(side->scale_bytes);
      if (side->amax_count > 0) side->amax = static_cast<float*>(at_256(side->amax_count * 4));
    }
    return group;
  }

  void add_of_a_tensor() {
    add<PreparedAmax>("PreparedAmax", "", {}, [this, result = floats()](const auto& op) {
      return op.run(x_, result, false, {});
    });
    for (const bool row_scaled : {false, true}) {
      const std::string what = row_scaled ? "row-scaled" : "";
      const QuantizedTensor out = operand(64, 64, row_scaled);
      PreparedQuantizeNvfp4::Request there;
      PreparedDequantizeNvfp4::Request back;
      there.out.row_scaled = back.row_scaled = row_scaled;
      add<PreparedQuantizeNvfp4>("PreparedQuantizeNvfp4", what, there,
                                 [this, out](const auto& op) { return op.run(x_, out, {}); });
      add<PreparedDequantizeNvfp4>("PreparedDequantizeNvfp4", what, back,
                                   [this, out](const auto& op) { return op.run(out, x_, {}); });
      const QuantizedTensor both = tiled(64, 64, row_scaled);
      add<PreparedQuantizeNvfp4>("PreparedQuantizeNvfp4", "both directions " + what,
                                 QuantizeNvfp4Request::of(x_, both),
                                 [this, both](const auto& op) { return op.run(x_, both, {}); });
    }
  }

  void add_of_mx() {
    using Quantize = PreparedQuantizeMx;
    using Dequantize = PreparedDequantizeMx;
    const QuantizedTensor out = mx();
    add<Quantize>("PreparedQuantizeMx", "", Quantize::Request::of(x_, out, MxMode::rceil, false),
                  [this, out](const auto& op) { return op.run(x_, out, {}); });
    add<Dequantize>("PreparedDequantizeMx", "", Dequantize::Request::of(out, x_, false),
                    [this, out](const auto& op) { return op.run(out, x_, {}); });
  }

  void add_of_groups() {
    using Nvfp4 = PreparedQuantizeNvfp4Grouped;
    using Mx = PreparedQuantizeMxGrouped;
    const QuantizedGroup nvfp4 = group_of(tiled(64, 64)), of_mx = group_of(mx());
    const std::vector pairs(2, QuantizedPair{x_, tiled(64, 64)}),
        mx_pairs(2, QuantizedPair{x_, mx()});
    const auto list = [this](const std::vector<QuantizedPair>& of) {
      return TensorGroup{of, group_.members};
    };
    const Nvfp4::Request request{QuantizeNvfp4Request::of(x_, nvfp4.whole, {}), false};
    add<Nvfp4>("PreparedQuantizeNvfp4Grouped", "members", request,
               [this, nvfp4](const auto& op) { return op.run(x_, nvfp4, {}); });
    add<Nvfp4>("PreparedQuantizeNvfp4Grouped", "pairs", request,
               [pairs, list](const auto& op) { return op.run(list(pairs), {}); });
    const Mx::Request mx_request{
        PreparedQuantizeMx::Request::of(x_, of_mx.whole, MxMode::rceil, true), false};
    add<Mx>("PreparedQuantizeMxGrouped", "members", mx_request,
            [this, of_mx](const auto& op) { return op.run(x_, of_mx, {}); });
    add<Mx>("PreparedQuantizeMxGrouped", "pairs", mx_request,
            [mx_pairs, list](const auto& op) { return op.run(list(mx_pairs), {}); });
    add<PreparedAmaxGrouped>("PreparedAmaxGrouped", "members", {},
                             [nvfp4](const auto& op) { return op.run(nvfp4, Sides::both, {}); });
    add<PreparedAmaxGrouped>("PreparedAmaxGrouped", "pairs", {}, [pairs, list](const auto& op) {
      return op.run(list(pairs), Sides::both, {});
    });
    PreparedAmaxGrouped::Request shared;
    shared.shared = true;
    add<PreparedAmaxGrouped>("PreparedAmaxGrouped", "shared", shared,
                             [all = std::vector(20, x_), result = floats()](const auto& op) {
                               return op.run(std::span<const Tensor>(all), result, false, {});
                             });
    const auto describe = std::make_shared<const PreparedDescribeGroup>(
        PreparedDescribeGroup::prepare(*runtime_, device_, nvfp4.whole.type).value());
    runs_.emplace(std::pair("PreparedDescribeGroup", ""), [this, describe, nvfp4] {
      return describe->run(x_, nvfp4, "quantize_nvfp4_grouped", {});
    });
  }

  void add_layouts() {
    const ScaleArray linear{at_256(64 * 4), ScaleLayout::linear, 64, 4};
    const ScaleArray tiles{at_256(128 * 4), ScaleLayout::s128x4, 64, 4};
    add<PreparedArrangeScales>("PreparedArrangeScales", "", {}, [linear, tiles](const auto& op) {
      return op.run(linear, tiles, {});
    });
    add<PreparedTransposeCodes>("PreparedTransposeCodes", "", {},
                                [from = at_256(2048), to = at_256(2048)](const auto& op) {
                                  return op.run(from, 64, 64, to, {});
                                });
    add<PreparedTransposeNvfp4>(
        "PreparedTransposeNvfp4", "", {ScaleLayout::s128x4},
        [both = square_blocks()](const auto& op) { return op.run(both, {}); });
  }

  void add_fake_quantization() {
    const Tensor amax = tensor(DType::f32, 64, 4), scales = tensor(DType::f32, 64, 4);
    const Tensor out = tensor(DType::bf16, 64, 64);
    float* const global = floats();
    add<PreparedComputeFp4Scales>("PreparedComputeFp4Scales", "", {},
                                  [=](const auto& op) { return op.run(amax, global, scales, {}); });
    add<PreparedStaticFp4FakeQuant>(
        "PreparedStaticFp4FakeQuant", "", {},
        [=, x = x_](const auto& op) { return op.run(x, amax, global, out, {}); });
    add<PreparedFp4FakeQuantBlock>(
        "PreparedFp4FakeQuantBlock", "", {},
        [=, x = x_](const auto& op) { return op.run(x, global, out, {}); });
  }

  void add_products() {
    using Own = PreparedGemmNvfp4;
    using Library = PreparedGemmCublaslt;
    GemmNvfp4Options own = options_;
    own.path = "own";
    add<Own>("PreparedGemmNvfp4", "", Own::Request::of(a_, b_, out_, own, device_->properties()),
             [this, own](const auto& op) { return op.run(a_, b_, out_, own, {}); });
    add<PreparedGemmUnpacked>(
        "PreparedGemmUnpacked", "", PreparedGemmUnpacked::Request::of(a_, b_, out_, own),
        [this, own](const auto& op) { return op.run(a_, b_, out_, own, {}); }, hopper());
    for (const DType type : {DType::bf16, DType::f16}) {  // the latter by a second pass
      const Tensor out = tensor(type, 8, 24);
      add<Library>("PreparedGemmCublaslt", type == DType::bf16 ? "direct" : "finished",
                   Library::Request::of(a_, b_, out, options_),
                   [this, out](const auto& op) { return op.run(a_, b_, out, options_, {}); });
    }
  }

  void add_linear() {
    const LinearWeight weight{Format::nvfp4, Shape{64, 64}, at_256(2048), at_256(256)};
    const PackedLinear packed{.shape = weight.shape, .data = at_256(2304), .bytes = 2304};
    add<PreparedPackLinear>("PreparedPackLinear", "", {},
                            [=](const auto& op) { return op.run(weight, packed, {}); });
    add<PreparedUnpackLinear>("PreparedUnpackLinear", "", {},
                              [=](const auto& op) { return op.run(packed, weight, {}); });
    const auto add_rows = [&](const char* which, std::int64_t rows) {
      const Tensor some = tensor(DType::bf16, rows, 64), out = tensor(DType::bf16, rows, 64);
      add<PreparedLinear>("PreparedLinear", which, {}, [=, factor = floats()](const auto& op) {
        return op.run(some, packed, factor, out, {}, {});
      });
    };
    const PackedLinear experts{.shape = Shape{1, 64, 64}, .data = packed.data, .bytes = 2304};
    const auto* const ids = static_cast<const std::int32_t*>(at_256(4 * 8));
    const Tensor some = tensor(DType::bf16, 8, 64), out = tensor(DType::bf16, 8, 64);
    add<PreparedLinearExperts>("PreparedLinearExperts", "", {},
                               [=, factors = floats()](const auto& op) {
                                 return op.run(some, experts, factors, {.data = ids}, out, {}, {});
                               });
    const TopKExperts topk{ids, floats(), 1};
    add<PreparedCombineExperts>("PreparedCombineExperts", "", {},
                                [=](const auto& op) { return op.run(some, topk, out, {}); });
    add_rows("few rows", 8);
    add_rows("many rows", 300);
  }

  const Tensor x_ = tensor(DType::bf16, 64, 64);
  QuantizedGroup group_;
};

}  // namespace diecast
