// Groups of threads that cast; see weight_group.h.
#include "ops/weight_group.h"

#include <diecast/base/text.h>

#include <random>

namespace diecast::weights_test {
namespace {

struct Group {
  Group(std::shared_ptr<Device> on, const Model& model, const Bounds& bounds)
      : device(std::move(on)), ranks(static_cast<int>(bounds[0].size()) - 1) {
    for (int r = 0; r < ranks; ++r) own.emplace_back(device, model, bounds, r);
    communicators = thread_ranks({static_cast<std::size_t>(ranks), device});
  }
  // The same ranks by way of a caller's functions.
  void use_callbacks() {
    for (auto& communicator : communicators) {
      CommunicatorCallbacks calls;
      calls.all_reduce_max = [of = communicator](float* values, std::int64_t count, Stream stream) {
        return of->all_reduce_max(values, count, stream);
      };
      calls.all_gather = [of = communicator](const Gather& gather, Stream stream) {
        return of->all_gather({&gather, 1}, stream);
      };
      communicator = std::make_shared<CallbackCommunicator>(
          CallbackCommunicator::make(communicator->rank(), ranks, calls).value());
    }
  }
  std::string run(const std::function<Result<void>(RankWeights&, Communicator&)>& body) {
    const auto outcomes = on_ranks(ranks, [&](int r) {
      const auto at = static_cast<std::size_t>(r);
      return body(own[at], *communicators[at]);
    });
    for (const auto& outcome : outcomes) {
      if (!outcome) return outcome.error().message();
    }
    return "";
  }
  std::string difference(const Model& model, const GroupCast& how) const {
    for (int r = 0; r < ranks; ++r) {
      const RankWeights& rank = own[static_cast<std::size_t>(r)];
      for (std::size_t w = 0; w < model.weights.size(); ++w) {
        std::string problem = rank.scale_difference(model, w);
        if (problem.empty()) {
          problem =
              how.gather ? rank.codes_difference(model, w) : rank.own_codes_difference(model, w);
        }
        if (problem.empty() && how.post && !model.weights[w].master.empty()) {
          problem = rank.columnwise_difference(model, w);
        }
        if (!problem.empty()) return cat("rank ", r, ": ", problem);
      }
    }
    return "";
  }
  std::shared_ptr<Device> device;
  int ranks;
  std::vector<RankWeights> own;
  std::vector<std::shared_ptr<Communicator>> communicators;
};

}  // namespace

std::string cast_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device,
                          const Model& model, const Bounds& bounds, const GroupCast& how) {
  Group group(device, model, bounds);
  if (how.callbacks) group.use_callbacks();
  MasterCastOptions options;
  options.device = device;
  options.model = model.model;
  options.gather = how.gather;
  options.padded_scales = model.padded_scales;
  for (int time = 0; time < 2; ++time) {
    const std::string problem =
        group.run([&](RankWeights& own, Communicator& communicator) -> Result<void> {
          DIECAST_CHECK(cast_master_weights_to_nvfp4(runtime, own.weights, own.shards, own.starts,
                                                     how.alone ? nullptr : &communicator, options));
          if (!how.post) return {};
          return post_all_gather_processing(runtime, own.weights, {model.padded_scales, device});
        });
    if (!problem.empty()) return problem;
  }
  return group.difference(model, how);
}

std::string cast_every_sixteen_bit_value(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const std::pair<DType, DType> kinds[] = {
      {DType::bf16, DType::bf16}, {DType::f32, DType::bf16}, {DType::f32, DType::f16}};
  for (const auto& [master, type] : kinds) {
    const Model model = Model::patterns(master, type);
    const Bounds bounds(model.weights.size(), {0, 20001, 40002, 65536});
    GroupCast how;
    how.post = true;
    const std::string problem = cast_on_ranks(runtime, device, model, bounds, how);
    if (!problem.empty()) return cat(dtype_name(master), " as ", dtype_name(type), ": ", problem);
  }
  return "";
}

std::string train_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device, Model& model,
                           const Bounds& bounds, int steps) {
  Group group(device, model, bounds);
  MasterCastOptions options;
  options.device = device;
  options.model = model.model;
  std::vector<PreparedMasterCast> casts(static_cast<std::size_t>(group.ranks));
  std::vector<std::unique_ptr<DeviceBuffer>> scratch(casts.size());
  std::string problem =
      group.run([&](RankWeights& own, Communicator& communicator) -> Result<void> {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        DIECAST_TRY(casts[rank], PreparedMasterCast::prepare(runtime, own.weights, own.shards,
                                                             own.starts, &communicator, options));
        const auto bytes = static_cast<std::size_t>(casts[rank].scratch_bytes());
        scratch[rank] = std::make_unique<DeviceBuffer>(*device, bytes);
        return {};
      });
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int step = 0; step < steps && problem.empty(); ++step) {
    for (Model::Weight& weight : model.weights) {
      for (float& value : weight.master) value = 0.99f * value + 0.01f * normal(random);
    }
    problem = group.run([&](RankWeights& own, Communicator& communicator) {
      own.upload(model);
      const auto rank = static_cast<std::size_t>(communicator.rank());
      return casts[rank].run(scratch[rank]->data_pointer(), {});
    });
    if (problem.empty()) problem = group.difference(model, {});
    if (!problem.empty()) problem = cat("step ", step, ": ", problem);
  }
  return problem;
}

}  // namespace diecast::weights_test
