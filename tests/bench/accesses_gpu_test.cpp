// The bench's patterns on a GPU: every word they write is the xor of what they must have read, so
// none of the loads they are made for can have been left out.
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/trial.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tool/run_tool.h"

namespace diecast {
namespace {

constexpr std::int64_t kPieces = 8192, kRowPieces = 64;

struct Pattern {
  int read, write, read_scale, write_scale;
};
constexpr Pattern kPatterns[] = {{32, 8, 0, 1},  {16, 4, 0, 2},  {32, 0, 0, 0},  {16, 0, 0, 0},
                                 {8, 32, 1, 0},  {4, 16, 2, 0},  {32, 32, 0, 0}, {16, 16, 0, 0},
                                 {64, 32, 0, 1}, {32, 16, 0, 2}, {16, 8, 0, 4}};

using Words = std::vector<std::uint8_t>;  // little-endian

std::uint32_t word_at(const Words& bytes, std::int64_t word) {
  std::uint32_t out = 0;
  std::memcpy(&out, bytes.data() + word * 4, 4);
  return out;
}

// What piece `piece` writes, word by word; the last one is what its scale is made of.
std::vector<std::uint32_t> expected(const Pattern& p, const Words& from, const Words& scales,
                                    std::int64_t piece) {
  const int in = p.read / 4, out = p.write / 4;
  const std::uint32_t scale =
      p.read_scale > 0 ? scales[static_cast<std::size_t>(piece / p.read_scale)] : 0;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(out) + 1, scale);
  for (int i = 0; i < out; ++i) {
    for (int w = i % in; w < in; w += i < in ? out : in) {
      words[static_cast<std::size_t>(i)] ^= word_at(from, piece * in + w);
    }
  }
  for (int w = 0; w < in; ++w) words.back() ^= word_at(from, piece * in + w);
  return words;
}

void run(Runtime& runtime, const std::shared_ptr<Device>& device, const std::string& name,
         const Pattern& p, Bindings bindings) {
  bindings.set("READ", p.read).set("WRITE", p.write);
  bindings.set("READ_SCALE", p.read_scale).set("WRITE_SCALE", p.write_scale);
  const auto one = runtime.specialize(name, bindings, device->targets().front()).value();
  SCOPED_TRACE(one.spelling());
  RunSizes sizes = {{"pieces", kPieces}};
  if (one.tmpl().size("row_pieces") != nullptr) sizes.emplace_back("row_pieces", kRowPieces);
  const auto kernel = runtime.preload(one, device).value();
  const auto trial = Trial::make(one, device, sizes).value();
  ASSERT_TRUE(trial.reset().ok());
  const auto arguments = trial.arguments();
  if (p.write == 0) {
    ASSERT_TRUE(device->fill(const_cast<void*>(arguments[2].data), 0, 4, {}).ok());
  }
  kernel->launch(arguments, {}).value();
  const auto read = [&](std::size_t argument, std::int64_t bytes) {
    Words out(static_cast<std::size_t>(bytes));
    device->copy_to_host(out.data(), arguments[argument].data, out.size(), {}).value();
    device->synchronize({}).value();
    return out;
  };
  const Words from = read(0, kPieces * p.read);
  const Words scales = read(1, p.read_scale > 0 ? kPieces / p.read_scale : 0);
  const Words to = read(2, p.write > 0 ? kPieces * p.write : 4);
  const Words to_scales = read(3, p.write_scale > 0 ? kPieces / p.write_scale : 0);
  int wrong = 0;
  for (std::int64_t piece = 0; piece < kPieces; ++piece) {
    const auto words = expected(p, from, scales, piece);
    for (int i = 0; i < p.write / 4; ++i) {
      wrong += word_at(to, piece * p.write / 4 + i) != words[static_cast<std::size_t>(i)];
    }
    const bool linear = one.tmpl().parameter("LAYOUT") == nullptr || one.number("LAYOUT") == 0;
    if (p.write_scale > 0 && piece % p.write_scale == 0 && linear) {
      wrong += to_scales[static_cast<std::size_t>(piece / p.write_scale)] != words.back() % 256;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(p.write > 0 || word_at(to, 0) != 0);
}

constexpr std::int64_t kVector = 16, kSide = 1024;

// Vector `n` of the lines that begin at byte `first`, so many vectors a line.
std::int64_t place(std::int64_t n, std::int64_t in_line, std::int64_t pitch, std::int64_t bytes) {
  return n / in_line * pitch + n % in_line * bytes;
}

// How many bytes are not what tile (row, col) of a pattern of tiles writes.
int wrong_in_tile(const Specialization& one, const std::vector<Words>& is, std::int64_t row,
                  std::int64_t col) {
  const std::int64_t high = one.number("TILE_ROWS"), wide = one.number("TILE_COLS");
  const std::int64_t threads = one.number("THREADS"), pieces = high * wide / (32 * threads);
  std::vector<Words> codes(static_cast<std::size_t>(pieces * threads), Words(kVector, 0));
  for (std::int64_t n = 0; n < 4 * pieces * threads; ++n) {
    const std::int64_t own = n / (4 * threads) * threads + n % threads;
    const std::int64_t at = row * 2 * kSide + 2 * col + place(n, wide / 8, 2 * kSide, kVector);
    for (std::int64_t b = 0; b < kVector; ++b) {
      codes[static_cast<std::size_t>(own)][static_cast<std::size_t>(b)] ^=
          is[0][static_cast<std::size_t>(at + b)];
    }
  }
  int wrong = 0;
  // Lines of an output from byte `first` on, `line` bytes each of the tile.
  const auto look = [&](const Words& out, std::int64_t first, std::int64_t pitch,
                        std::int64_t lines, std::int64_t line) {
    const std::int64_t bytes = std::min(line, kVector), in_line = line / bytes;
    for (std::int64_t n = 0; n < lines * in_line; ++n) {
      const Words& want = codes[static_cast<std::size_t>(n % (pieces * threads))];
      const auto at = out.begin() + first + place(n, in_line, pitch, bytes);
      wrong += !std::equal(at, at + bytes, want.begin());
    }
  };
  look(is[1], row * kSide / 2 + col / 2, kSide / 2, high, wide / 2);
  look(is[2], row * kSide / 16 + col / 16, kSide / 16, high, wide / 16);
  look(is[3], col * kSide / 2 + row / 2, kSide / 2, wide, high / 2);
  look(is[4], col * kSide / 16 + row / 16, kSide / 16, wide, high / 16);
  return wrong;
}

TEST(AccessesOnGpu, OfTilesWriteAlongBothSides) {
  const auto runtime = Runtime::create().value();
  const auto gpu = runtime->default_device();
  if (!gpu) GTEST_SKIP() << gpu.error().message();
  const std::shared_ptr<Device> device = *gpu;
  const auto tmpl =
      runtime->add(testing::kSource + "/tests/bench/patterns/accesses_tiles.cu").value();
  const Target target = device->targets().front();
  constexpr std::pair<int, int> kTiles[] = {{128, 128}, {128, 256}, {256, 128}, {256, 256}};
  for (const auto& [high, wide] : kTiles) {
    for (const auto& [name, value] :
         {std::pair{"BAND", 4}, {"TOGETHER", 2}, {"AHEAD", 1}, {"STAGES", 4}}) {
      if (std::string_view(name) == "STAGES" && target.cc < 90) continue;  // bulk copies
      const Bindings point =
          Bindings{}.set("TILE_ROWS", high).set("TILE_COLS", wide).set(name, value);
      const auto one = Specialization::make(tmpl, point, target).value();
      SCOPED_TRACE(one.spelling());
      const auto kernel = runtime->preload(one, device).value();
      const auto trial = Trial::make(one, device, {{"rows", kSide}, {"cols", kSide}}).value();
      ASSERT_TRUE(trial.reset().ok());
      const auto arguments = trial.arguments();
      // Fewer thread blocks than tiles: some take several.
      kernel->launch(arguments, {}, kernel->tunes(Bindings{}.set("waves", 1)).value()).value();
      std::vector<Words> is;
      for (const std::int64_t bytes : {2 * kSide, kSide / 2, kSide / 16, kSide / 2, kSide / 16}) {
        is.emplace_back(static_cast<std::size_t>(bytes * kSide));
        device->copy_to_host(is.back().data(), arguments[is.size() - 1].data, is.back().size(), {})
            .value();
      }
      device->synchronize({}).value();
      int wrong = 0;
      for (std::int64_t row = 0; row < kSide; row += high) {
        for (std::int64_t col = 0; col < kSide; col += wide) {
          wrong += wrong_in_tile(one, is, row, col);
        }
      }
      EXPECT_EQ(wrong, 0);
    }
  }
}

TEST(AccessesOnGpu, WriteTheXorOfAllThatTheyRead) {
  const auto runtime = Runtime::create().value();
  const auto gpu = runtime->default_device();
  if (!gpu) GTEST_SKIP() << gpu.error().message();
  const std::shared_ptr<Device> device = *gpu;
  const std::string folder = testing::kSource + "/tests/bench/patterns/";
  for (const char* name : {"accesses_direct", "accesses_bulk"}) {
    const auto tmpl = runtime->add(folder + name + ".cu").value();
    if (!tmpl->supports(device->targets().front())) continue;
    const bool bulk = tmpl->parameter("BULK_STORES") != nullptr;
    for (const Pattern& p : kPatterns) {
      for (const int together : {1, 2}) {
        for (const bool other : {false, true}) {
          if (bulk && other && p.write == 0) continue;
          run(*runtime, device, name, p,
              Bindings{}.set("TOGETHER", together).set(bulk ? "BULK_STORES" : "AHEAD", other));
        }
      }
    }
  }
}

}  // namespace
}  // namespace diecast
