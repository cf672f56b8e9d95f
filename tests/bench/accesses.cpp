// Kernels that only load and store; see accesses.h.
#include "bench/accesses.h"

#include <diecast/base/text.h>
#include <diecast/template/embedded_file.h>

#include <algorithm>

#include "bench/named_arguments.h"

namespace diecast {

const EmbeddedFile* bench_patterns();  // generated: the folder patterns

namespace tool {
namespace {

constexpr const char *kDirect = "accesses_direct", *kBulk = "accesses_bulk",
                     *kTiles = "accesses_tiles";
constexpr int kBulkCopies = 90;         // the compute capability that has them
constexpr std::int64_t kThreads = 256;  // a block, as the templates have it by default

// A kernel to be: one of the templates, its bindings, and the waves it is launched in.
struct Candidate {
  AccessPattern::Kind kind;
  std::string_view pattern;
  std::string what;
  Bindings bindings;
  int waves;
};

// `shares`: threads among which a unit is divided.
Bindings pieces_of(const Accesses& accesses, int shares) {
  return Bindings{}
      .set("READ", accesses.read / shares)
      .set("WRITE", accesses.written / shares)
      .set("READ_SCALE", accesses.reads_scales ? shares : 0)
      .set("WRITE_SCALE", accesses.writes_scales ? shares : 0);
}

// 16 bytes of the larger side are the most that one instruction moves, so smaller pieces gain
// nothing; nor are there loads and stores of less than 4.
bool divides(const Accesses& accesses, int shares) {
  return shares == 1 ||
         (std::max(accesses.read, accesses.written) / shares >= 16 && accesses.read / shares >= 4 &&
          (accesses.written == 0 || accesses.written / shares >= 4));
}

std::string said(const Accesses& accesses, int shares, int together) {
  return cat("a thread reads ", accesses.read / shares, " bytes",
             together > 1 ? cat(", ", together, " times together") : std::string());
}

void add_candidates(const Accesses& accesses, int shares, std::vector<Candidate>& out) {
  const Bindings pieces = pieces_of(accesses, shares);
  const auto direct = [&](int together, bool ahead) {
    return Bindings(pieces)
        .set("LAYOUT", accesses.tiled ? "s128x4" : "linear")
        .set("TOGETHER", together)
        .set("AHEAD", ahead);
  };
  for (const int together : {1, 2}) {
    const std::string read = said(accesses, shares, together);
    for (const int waves : {64, 256}) {
      out.push_back({AccessPattern::Kind::direct, kDirect,
                     cat("direct: ", read, ", ", waves, " waves"), direct(together, false), waves});
    }
    out.push_back({AccessPattern::Kind::persistent, kDirect,
                   cat("persistent: ", read, ", a step ahead"), direct(together, true), 8});
  }
  if (accesses.tiled) return;  // a tile's scales are no run of bytes for one copy
  const int together = std::clamp(64 * shares / accesses.read, 1, 4);
  for (const bool stores : {false, true}) {
    if (stores && accesses.written == 0) continue;
    out.push_back({AccessPattern::Kind::bulk, kBulk,
                   cat("bulk: copies of ", accesses.read / shares * together * kThreads / 1024,
                       " KiB in 3 stages", stores ? ", written so too" : ""),
                   Bindings(pieces).set("TOGETHER", together).set("BULK_STORES", stores), 4});
  }
}

// A thread block' tile of a matrix that is written along both sides.
struct PatternTile {
  int rows, cols, threads;
};
constexpr PatternTile kPatternTiles[] = {{128, 128, 256}, {128, 256, 256}, {256, 128, 256},
                                         {256, 256, 256}, {256, 256, 512}, {512, 256, 512},
                                         {512, 512, 512}};

void add_tiles(const PatternTile& tile, int band, std::vector<Candidate>& out) {
  using Kind = AccessPattern::Kind;
  const Bindings bindings = Bindings{}
                                .set("TILE_ROWS", tile.rows)
                                .set("TILE_COLS", tile.cols)
                                .set("THREADS", tile.threads)
                                .set("BAND", band);
  const std::string of =
      cat("tiles of ", tile.rows, "x", tile.cols,
          band > 1 ? cat(" in bands of ", band) : std::string(), ", ", tile.threads, " threads");
  const auto kib = [&](int pieces) { return cat(pieces * tile.threads * 64 / 1024, " KiB"); };
  for (const int together : {1, 2}) {
    out.push_back({Kind::direct, kTiles, cat("direct: ", of, ", ", kib(together), " read together"),
                   Bindings(bindings).set("TOGETHER", together), 256});
  }
  const int stay = 512 / tile.threads;
  out.push_back({Kind::persistent, kTiles, cat("persistent: ", of, ", ", kib(1), " ahead"),
                 Bindings(bindings).set("AHEAD", true).set("RESIDENT", stay), stay});
  for (const int stages : {2, 4}) {
    out.push_back({Kind::bulk, kTiles, cat("bulk: ", of, ", ", stages, " stages of ", kib(1)),
                   Bindings(bindings).set("STAGES", stages), 256});
  }
}

std::vector<KernelArgument> arguments_of(const Specialization& one, const Accesses& accesses,
                                         const Accesses::Buffers& at) {
  const NamedData data = {{"from", at.from},
                          {"from_scales", at.from_scales},
                          {"to", at.to},
                          {"to_scales", at.to_scales},
                          {"to_columns", at.to_columns},
                          {"to_column_scales", at.to_column_scales}};
  if (accesses.columns) {
    return arguments_by_name(
        one, data, {{"rows", accesses.rows}, {"cols", accesses.row_units * accesses.read / 2}});
  }
  const std::int64_t row_pieces = accesses.row_units * (accesses.read / one.number("READ"));
  return arguments_by_name(one, data,
                           {{"pieces", accesses.rows * row_pieces}, {"row_pieces", row_pieces}});
}

// Bulk copies are of whole tiles, and so is what is written along both sides.
bool of_whole_tiles(const Specialization& one, const Accesses& accesses) {
  if (accesses.columns) {
    return accesses.rows % one.number("TILE_ROWS") == 0 &&
           accesses.row_units * accesses.read / 2 % one.number("TILE_COLS") == 0;
  }
  const std::int64_t pieces =
      accesses.rows * accesses.row_units * accesses.read / one.number("READ");
  return one.tmpl().name() != kBulk || pieces % (kThreads * one.number("TOGETHER")) == 0;
}

}  // namespace

Result<std::shared_ptr<const Template>> pattern_template(std::string_view name) {
  for (const EmbeddedFile* file = bench_patterns(); file->name != nullptr; ++file) {
    if (file->name != cat(name, ".cu")) continue;
    return Template::parse(name, {reinterpret_cast<const char*>(file->bytes), file->size});
  }
  return Error{ErrorCode::unknown_template, cat("the bench has no pattern ", quote(name)),
               "build diecast-bench anew: its patterns are part of it"};
}

Result<std::vector<AccessPattern>> access_patterns(Runtime& runtime,
                                                   const std::shared_ptr<Device>& device,
                                                   Stream stream, const Accesses& accesses) {
  std::vector<Candidate> candidates;
  if (accesses.columns) {
    for (const PatternTile& tile : kPatternTiles) {
      for (const int band : {1, 16}) add_tiles(tile, band, candidates);
    }
  } else {
    for (const int shares : {1, 2, 4}) {
      if (divides(accesses, shares)) add_candidates(accesses, shares, candidates);
    }
  }
  const Target target = device->targets().front();
  std::vector<Specialization> all;
  std::vector<Candidate> taken;
  for (const Candidate& candidate : candidates) {
    DIECAST_TRY(const auto tmpl, pattern_template(candidate.pattern));
    const bool copies = candidate.kind == AccessPattern::Kind::bulk;
    if (!tmpl->supports(target) || (copies && target.cc < kBulkCopies)) continue;
    DIECAST_TRY(const auto one, Specialization::make(tmpl, candidate.bindings, target));
    if (!of_whole_tiles(one, accesses)) continue;
    all.push_back(one);
    taken.push_back(candidate);
  }
  DIECAST_TRY(const auto kernels, runtime.preload(all, device));
  std::vector<AccessPattern> out;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    DIECAST_TRY(const LaunchTunes tunes,
                kernels[i]->tunes(Bindings{}.set("waves", taken[i].waves)));
    std::vector<std::vector<KernelArgument>> arguments;
    for (const Accesses::Buffers& buffers : accesses.of_set) {
      arguments.push_back(arguments_of(all[i], accesses, buffers));
    }
    out.push_back({taken[i].kind, taken[i].what,
                   [kernel = kernels[i], arguments, tunes, stream](std::size_t set) {
                     return kernel->launch(arguments[set], stream, tunes);
                   }});
  }
  return out;
}

}  // namespace tool
}  // namespace diecast
