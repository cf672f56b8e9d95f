// How the command speaks: plain text and aligned tables on standard output, progress and errors on
// standard error. The library below never prints.
#pragma once

#include <diecast/base/error.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::tool {

// Descriptors 0 to 2 may be closed when we start: a file opened later must not take their places.
void open_standard_streams();

void print(std::string_view line);  // one line on standard output
// For programs. A path need not be UTF-8: what is not becomes U+FFFD.
void print_json(const nlohmann::ordered_json& value);
void print_error(const Error& error);

std::string counted(std::uint64_t count, std::string_view thing);  // "1 kernel", "2 kernels"
std::string fixed(double value, int decimals);  // 12.30, the same in every locale

// Columns as wide as their widest cell; numbers (cells that start with a digit) to the right,
// unless the column has words too: a cell of more than a number and its unit.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "31.0 MiB of 314.0 MiB, 0.98 GB/s, 3 s left".
std::string pace(std::uint64_t done, std::uint64_t total, double seconds);

// Long work: a bar that is redrawn in place on a terminal, otherwise a line at every tenth. Of
// bytes it says the pace, of other things the name of the one at hand.
class Progress {
 public:
  enum class Of : std::uint8_t { things, bytes };
  explicit Progress(std::string title, bool quiet = false, Of of = Of::things);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  void update(std::uint64_t done, std::uint64_t total, std::string_view what);
  void clear();  // the bar, before other output or a next piece of work

 private:
  std::string title_;
  bool terminal_ = false;
  bool quiet_ = false;
  bool drawn_ = false;
  Of of_ = Of::things;
  std::uint64_t last_tenth_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_draw_{};
};

}  // namespace diecast::tool
