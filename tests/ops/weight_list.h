// Weights and master values of a model for the tests of sharded casts: whole masters on the host,
// and for each rank its own quantized buffers and master shards in device memory, guarded and
// poisoned.
#pragma once

#include <diecast/diecast.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/device_buffer.h"

namespace diecast::weights_test {

using variants::DeviceBuffer;

// Every master type with the model types that a cast of it has.
struct MasterTypes {
  DType master, model;
};
inline constexpr MasterTypes kMasterTypes[] = {{DType::f32, DType::bf16},
                                               {DType::bf16, DType::bf16},
                                               {DType::f32, DType::f16},
                                               {DType::f32, DType::f32}};

// One weight: its shape, and what all ranks' masters make together (f32, or bf16 values as f32).
struct Model {
  struct Weight {
    std::int64_t rows, cols;
    std::vector<float> master;
  };
  std::vector<Weight> weights;
  DType master = DType::f32;
  DType model = DType::bf16;
  ScaleLayout layout = ScaleLayout::linear;
  bool padded_scales = false;  // linear ones, as MasterCastOptions has it
  // How far behind an aligned address buffers begin: data and scales bytes, masters elements.
  std::size_t shift = 0;

  // Hostile values: ties, zeros of both signs, subnormals; with `specials` NaN and infinities.
  static Model random(const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes,
                      std::uint64_t seed, bool specials, DType master = DType::f32);
  // Two weights of all 65,536 values of a 16-bit model type: in order, but for what is not finite,
  // and scattered.
  static Model patterns(DType master, DType model);
  // Weights of infinities, of NaN, of zeros, of subnormals, of values far apart, of no elements.
  static Model extremes();
  reference::Nvfp4 full_cast(std::size_t weight, bool transposed = false) const;
};

// bounds[w]: where the shards of weight w begin and end, one behind another; ranks + 1 numbers.
using Bounds = std::vector<std::vector<std::int64_t>>;

// Four shards a weight: one at a multiple of 16, none, one that ends anywhere, the rest.
Bounds uneven_bounds(const Model& model);

// One rank's buffers of a model and its shards.
class RankWeights {
 public:
  RankWeights(std::shared_ptr<Device> device, const Model& model, const Bounds& bounds, int rank);

  // New master values into the shards that are there.
  void upload(const Model& model);
  // Where a buffer of weight w differs from the full cast. Of its own codes: where they do, or
  // where a half of a byte that this rank does not send is not the poison it was.
  std::string scale_difference(const Model& model, std::size_t w, bool columnwise = false) const;
  std::string codes_difference(const Model& model, std::size_t w) const;
  std::string own_codes_difference(const Model& model, std::size_t w) const;
  std::string columnwise_difference(const Model& model, std::size_t w) const;
  // Whether no byte of any weight is other than the poison it was.
  bool is_untouched() const;

  std::vector<QuantizedTensor> weights;
  std::vector<Tensor> shards;
  std::vector<std::int64_t> starts;

 private:
  DeviceBuffer* add(std::size_t bytes, std::size_t shift = 0);
  struct Buffers {
    DeviceBuffer *data, *scale, *amax, *column_data, *column_scale, *column_amax, *master;
  };
  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<DeviceBuffer>> memory_;
  std::vector<Buffers> buffers_;
};

// Runs `body(rank)` on a thread for each rank and gives back their outcomes.
std::vector<Result<void>> on_ranks(int ranks, const std::function<Result<void>(int)>& body);

}  // namespace diecast::weights_test
