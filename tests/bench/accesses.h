// The loads and stores of an op without its arithmetic, in kernels of several memory patterns
// (patterns/*.cu): the most that any kernel with these accesses could reach.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>
#include <diecast/template/template.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::tool {

// What an op reads and writes of each unit of a matrix: the neighbours that share one scale.
struct Accesses {
  struct Buffers {  // device memory, each from a multiple of 16 bytes on
    const void* from = nullptr;
    const void* from_scales = nullptr;
    void* to = nullptr;  // a word where nothing is written
    void* to_scales = nullptr;
    void* to_columns = nullptr;  // of the transpose, where that is written too
    void* to_column_scales = nullptr;
  };
  int read = 0, written = 0;                         // bytes a unit
  bool reads_scales = false, writes_scales = false;  // one more byte a unit
  bool tiled = false;                                // those that are written lie in tiles of 128x4
  bool columns = false;  // the same of the transpose is written too, scales of both linear
  std::int64_t rows = 0, row_units = 0;
  std::vector<Buffers> of_set;
};

struct AccessPattern {
  // Threads that load and store where they compute, many blocks of them; the same, as many as stay,
  // reading one step ahead; bulk copies through shared memory.
  enum class Kind : std::uint8_t { direct, persistent, bulk };
  Kind kind = Kind::direct;
  std::string what;  // "direct: reads 32 bytes, 2 together, 64 waves"
  std::function<Result<void>(std::size_t set)> run;  // one launch on the buffers of a set
};
inline constexpr std::size_t kAccessKinds = 3;

// All that there are of these accesses on this device (bulk copies from compute capability 9.0 on),
// resident.
Result<std::vector<AccessPattern>> access_patterns(Runtime& runtime,
                                                   const std::shared_ptr<Device>& device,
                                                   Stream stream, const Accesses& accesses);

// One of the bench's own templates by name: accesses_direct, accesses_bulk, accesses_rows.
Result<std::shared_ptr<const Template>> pattern_template(std::string_view name);

}  // namespace diecast::tool
