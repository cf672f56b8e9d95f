// One run of a prepared cast: maxima of tiles, agreed on; scales of every weight; codes of the own
// shards; the halves of bytes that two ranks share; and the gathering of the codes.
#include <diecast/base/text.h>
#include <diecast/ops/weights/master_cast_state.h>

namespace diecast {

// Tiles outside the shard's rows and what pads a weight's stay at the fill's zeros; without either
// only amaxes, where maxima meet, need it.
Result<void> PreparedMasterCast::State::find_maxima(float* amaxes_at, Stream stream) const {
  const std::int64_t cleared = table.owns_all_tiles ? amaxes() : floats();
  DIECAST_CHECK(device->fill(
      amaxes_at, 0, static_cast<std::size_t>(cleared * std::int64_t{sizeof(float)}), stream));
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::u8, descriptors.data()),
      KernelArgument::tensor(DType::f32, amaxes_at),
      KernelArgument::tensor(DType::f32, amaxes_at + amaxes()),
      KernelArgument::size(weights),
      KernelArgument::size(table.units[static_cast<std::size_t>(UnitKind::shard)]),
      KernelArgument::size(table.tiles)};
  DIECAST_CHECK(partial_amax->launch(arguments, stream));
  if (communicator == nullptr) return {};
  return communicator->all_reduce_max(amaxes_at, floats(), stream);
}

Result<void> PreparedMasterCast::State::share_edges(std::uint8_t* first_codes,
                                                    Stream stream) const {
  if (!edges || communicator == nullptr) return {};
  const Gather gather{first_codes, edge_offsets, edge_counts};
  DIECAST_CHECK(communicator->all_gather({&gather, 1}, stream));
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::i64, merges.data()),
      KernelArgument::tensor(DType::u8, first_codes),
      KernelArgument::size(static_cast<std::int64_t>(own_merges.size())),
      KernelArgument::size(ranks * weights)};
  return merge->launch(arguments, stream);
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
  const auto units = [&](UnitKind kind) {
    return KernelArgument::size(s.table.units[static_cast<std::size_t>(kind)]);
  };
  const auto weights = KernelArgument::tensor(DType::u8, s.descriptors.data());
  const auto count = KernelArgument::size(s.weights),
             tile_count = KernelArgument::size(s.table.tiles);
  const auto of_tiles = KernelArgument::tensor(DType::f32, tiles);
  const KernelArgument scale[] = {weights,
                                  KernelArgument::tensor(DType::f32, amaxes),
                                  of_tiles,
                                  count,
                                  units(UnitKind::scale),
                                  tile_count};
  DIECAST_CHECK(s.fused_scale->launch(scale, stream));
  const KernelArgument cast[] = {weights,
                                 of_tiles,
                                 KernelArgument::tensor(DType::u8, first_codes + own * s.weights),
                                 count,
                                 units(UnitKind::shard),
                                 tile_count};
  DIECAST_CHECK(s.partial_cast->launch(cast, stream));
  DIECAST_CHECK(s.share_edges(first_codes, stream));
  if (s.gathers.empty()) return {};
  return s.communicator->all_gather(s.gathers, stream);
}

}  // namespace diecast
