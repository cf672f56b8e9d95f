// Runners of the templates for sharded weights in MXFP8: a list of `cols` weights of random shapes
// and shards, each kernel alone against the scalar reference.
#include <diecast/ops/reference/mx.h>

#include <cmath>
#include <random>

#include "ops/variant_case.h"
#include "ops/weights_case.h"

namespace diecast::variants {
namespace {
// A list of weights and the maxima of their blocks, by (weight, element).
struct MxCase : WeightsCase {
  MxCase(Kernel& kernel, const Case& one) : WeightsCase(kernel, one, true) {
    maxima.resize(static_cast<std::size_t>(table.tiles));
    const Specialization& s = kernel.specialization();
    if (s.bindings().find("FORMAT") != nullptr && word_of(s, "FORMAT") == "mxfp8_e5m2") {
      formula.format = Format::mxfp8_e5m2;
    }
  }
  float& of_row(std::size_t w, std::int64_t at) {
    const HostWeight& h = hosts[w];
    const std::int64_t block = at / h.cols * ((h.cols + 31) / 32) + at % h.cols / 32;
    return maxima[static_cast<std::size_t>(table.descriptors[w].first_tile + block)];
  }
  float& of_column(std::size_t w, std::int64_t at) {
    const HostWeight& h = hosts[w];
    const std::int64_t block =
        h.rows * ((h.cols + 31) / 32) + at / h.cols / 32 * h.cols + at % h.cols;
    return maxima[static_cast<std::size_t>(table.descriptors[w].first_tile + block)];
  }
  void randomize(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (float& m : maxima) {
      m = random() % 8 == 0 ? 0.0f
                            : std::ldexp(1.0f + static_cast<float>(random() % 64) / 64.0f,
                                         static_cast<int>(random() % 240) - 120);
    }
  }
  reference::MxFormula formula;
  std::vector<float> maxima;
};

std::string mx_partial_amax_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  MxCase c(kernel, one);
  const DeviceBuffer got(c.device, c.maxima.data(), c.maxima.size() * 4);
  for (std::size_t w = 0; w < c.list.size(); ++w) {
    for (std::int64_t at = c.list[w].shard.begin; at < c.list[w].shard.end; ++at) {
      const float magnitude = std::fabs(c.element(w, at));
      if (magnitude > c.of_row(w, at)) c.of_row(w, at) = magnitude;
      if (magnitude > c.of_column(w, at)) c.of_column(w, at) = magnitude;
    }
  }
  const DeviceBuffer unused(c.device, c.list.size() * 4);
  const args::MxPartialAmax arguments{.weights = c.weights(),
                                      .amaxes = unused.data_pointer(),
                                      .maxima = got.data_pointer(),
                                      .count = c.count(),
                                      .units = c.units(UnitKind::shard),
                                      .blocks = c.table.tiles};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("maxima", got, c.maxima.data(), c.maxima.size() * 4) : problem;
}

std::string mx_fused_scale_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  MxCase c(kernel, one);
  c.randomize(one.seed);
  const DeviceBuffer got(c.device, c.maxima.data(), c.maxima.size() * 4);
  const DeviceBuffer unused(c.device, c.list.size() * 4);
  const args::MxFusedScale arguments{.weights = c.weights(),
                                     .amaxes = unused.data_pointer(),
                                     .maxima = got.data_pointer(),
                                     .count = c.count(),
                                     .units = c.units(UnitKind::scale),
                                     .blocks = c.table.tiles};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const auto scale = [&](float amax) { return reference::mx_scale(c.formula, amax); };
    const std::int64_t across = (h.cols + 31) / 32, down = (h.rows + 31) / 32;
    const Bytes rowwise =
        c.laid_out(Bytes(static_cast<std::size_t>(c.list[w].weight.rowwise.scale_bytes)), h.rows,
                   across, w, [&](std::int64_t row, std::int64_t block) {
                     return scale(c.of_row(w, row * h.cols + block * 32));
                   });
    const auto of_column = [&](std::int64_t col, std::int64_t block) {
      return scale(c.of_column(w, block * 32 * h.cols + col));
    };
    Bytes columnwise =
        c.laid_out(Bytes(static_cast<std::size_t>(c.list[w].weight.columnwise.scale_bytes)), h.cols,
                   down, w, of_column);
    if (c.list[w].weight.type.layout == ScaleLayout::linear) {  // row after row of blocks
      for (std::size_t i = 0; i < columnwise.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        columnwise[i] = of_column(at % h.cols, at / h.cols);
      }
    }
    problem = compare("scales", c.buffer(w, WeightsCase::scale), rowwise.data(), rowwise.size());
    if (problem.empty()) {
      problem = compare("columnwise scales", c.buffer(w, WeightsCase::column_scale),
                        columnwise.data(), columnwise.size());
    }
  }
  return problem;
}

std::string mx_partial_cast_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  MxCase c(kernel, one);
  c.randomize(one.seed);
  const DeviceBuffer got(c.device, c.maxima.data(), c.maxima.size() * 4);
  const DeviceBuffer unused(c.device, c.list.size() * 4);
  const args::MxPartialCast arguments{.weights = c.weights(),
                                      .maxima = got.data_pointer(),
                                      .edges = unused.data_pointer(),
                                      .count = c.count(),
                                      .units = c.units(UnitKind::shard),
                                      .blocks = c.table.tiles};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    Bytes rowwise = c.hosts[w].codes;  // random: what is not the shard's must stay
    Bytes columnwise(rowwise.size(), 0xA5);
    for (std::int64_t at = c.list[w].shard.begin; at < c.list[w].shard.end; ++at) {
      const auto code = [&](float amax) {
        return reference::mx_code(c.formula, c.element(w, at),
                                  reference::mx_scale(c.formula, amax));
      };
      rowwise[static_cast<std::size_t>(at)] = code(c.of_row(w, at));
      columnwise[static_cast<std::size_t>(at)] = code(c.of_column(w, at));
    }
    problem = compare("rowwise", c.buffer(w, WeightsCase::data), rowwise.data(), rowwise.size());
    if (problem.empty()) {
      problem = compare("columnwise", c.buffer(w, WeightsCase::column_data), columnwise.data(),
                        columnwise.size());
    }
  }
  return problem;
}

const RunnerFor<args::MxFusedScale> mx_fused_scale_runner{mx_fused_scale_difference};
const RunnerFor<args::MxPartialAmax> mx_partial_amax_runner{mx_partial_amax_difference};
const RunnerFor<args::MxPartialCast> mx_partial_cast_runner{mx_partial_cast_difference};

}  // namespace
}  // namespace diecast::variants
