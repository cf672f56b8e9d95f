// One run of a prepared cast: maxima of tiles, agreed on; scales of every weight; codes of the own
// shards; the halves of bytes that two ranks share; and the gathering of the codes. MXFP8's kernels
// take their arguments in the form of NVFP4's.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/weights/master_cast_state.h>

namespace diecast {

// Tiles outside the shard's rows and what pads a weight's stay at the fill's zeros; without either
// only amaxes, where maxima meet, need it.
Result<void> PreparedMasterCast::State::find_maxima(float* amaxes_at, Stream stream) const {
  const std::int64_t cleared = table.owns_all_tiles ? amaxes() : floats();
  DIECAST_CHECK(device->fill(
      amaxes_at, 0, static_cast<std::size_t>(cleared * std::int64_t{sizeof(float)}), stream));
  const args::PartialAmax arguments{.weights = descriptors.data(),
                                    .amaxes = amaxes_at,
                                    .maxima = amaxes_at + amaxes(),
                                    .count = weights,
                                    .units = table.units_of(UnitKind::shard),
                                    .tiles = table.tiles};
  DIECAST_CHECK(partial_amax->launch(arguments.in_order(), stream));
  if (communicator == nullptr) return {};
  return communicator->all_reduce_max(amaxes_at, floats(), stream);
}

Result<void> PreparedMasterCast::State::share_edges(std::uint8_t* first_codes,
                                                    Stream stream) const {
  if (!edges || communicator == nullptr) return {};
  const Gather gather{first_codes, edge_offsets, edge_counts};
  DIECAST_CHECK(communicator->all_gather({&gather, 1}, stream));
  const args::MergeEdgeCodes arguments{.merges = merges.data(),
                                       .edges = first_codes,
                                       .count = static_cast<std::int64_t>(own_merges.size()),
                                       .gathered = ranks * weights};
  return merge->launch(arguments.in_order(), stream);
}

Result<void> PreparedMasterCast::run(void* scratch, Stream stream) const {
  DIECAST_CHECK(check_prepared(state_.get(), "cast_master_weights"));
  const State& s = *state_;
  if (s.weights == 0) return {};
  if (scratch == nullptr || reinterpret_cast<std::uintptr_t>(scratch) % 16 != 0) {
    return Error{scratch == nullptr ? ErrorCode::missing_buffer : ErrorCode::misaligned,
                 cat(s.family.op, ": the scratch is ",
                     scratch == nullptr ? "null" : "not at a multiple of 16 bytes"),
                 cat("pass ", s.scratch_bytes(), " bytes of device memory")};
  }
  auto* amaxes = static_cast<float*>(scratch);
  float* tiles = amaxes + s.amaxes();
  auto* first_codes = reinterpret_cast<std::uint8_t*>(amaxes + s.floats());
  const std::int64_t own = s.communicator == nullptr ? 0 : s.communicator->rank();
  DIECAST_CHECK(s.find_maxima(amaxes, stream));
  const args::FusedScale scale{.weights = s.descriptors.data(),
                               .amaxes = amaxes,
                               .decode = tiles,
                               .count = s.weights,
                               .units = s.table.units_of(UnitKind::scale),
                               .tiles = s.table.tiles};
  DIECAST_CHECK(s.fused_scale->launch(scale.in_order(), stream));
  const args::PartialCast cast{.weights = s.descriptors.data(),
                               .decode = tiles,
                               .edges = first_codes + own * s.weights,
                               .count = s.weights,
                               .units = s.table.units_of(UnitKind::shard),
                               .tiles = s.table.tiles};
  DIECAST_CHECK(s.partial_cast->launch(cast.in_order(), stream));
  DIECAST_CHECK(s.share_edges(first_codes, stream));
  if (s.gathers.empty()) return {};
  return s.communicator->all_gather(s.gathers, stream);
}

}  // namespace diecast
