// The command's voice; see console.h.
#include <diecast/base/text.h>
#include <diecast/tool/console.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace diecast::tool {

void open_standard_streams() {
  int file = 0;
  do {
    file = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (file >= 0 && file <= 2);
  if (file > 2) close(file);
}

void print(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

void print_json(const nlohmann::ordered_json& value) {
  print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_error(const Error& error) {
  const std::string message = error.message() + "\n";
  std::fflush(stdout);
  std::fwrite(message.data(), 1, message.size(), stderr);
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return cat(count, " ", thing, count == 1 ? "" : "s");
}

std::string fixed(double value, int decimals) {
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  return {buffer, end.ptr};
}

void Table::print() const {
  std::vector<std::size_t> widths;
  std::vector<bool> text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    widths.resize(std::max(widths.size(), rows_[r].size()));
    text.resize(widths.size());
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      widths[i] = std::max(widths[i], rows_[r][i].size());
      const std::string& cell = rows_[r][i];
      if (r > 0 && (words(cell).size() > 2 || cell.find(',') != cell.npos)) text[i] = true;
    }
  }
  const auto numeric = [&](const std::string& cell, std::size_t column) {
    return !text[column] && !cell.empty() && ((cell[0] >= '0' && cell[0] <= '9') || cell[0] == '-');
  };
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      // A column whose first value is a number keeps its heading over the digits.
      const bool right = numeric(cell, i) || (r == 0 && rows_.size() > 1 && i < rows_[1].size() &&
                                              numeric(rows_[1][i], i));
      const std::string space(widths[i] - cell.size(), ' ');
      if (i > 0) line += "  ";
      line += right ? space + cell : cell + space;
    }
    tool::print(line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

std::string pace(std::uint64_t done, std::uint64_t total, double seconds) {
  const auto bytes = static_cast<double>(done);
  const double rate = seconds > 0 ? bytes / seconds : 0;
  std::string left = "?";
  if (rate > 0) {
    const double rest = static_cast<double>(total - done) / rate;
    left = rest < 120        ? cat(fixed(rest, 0), " s")
           : rest < 120 * 60 ? cat(fixed(rest / 60, 0), " min")
                             : cat(fixed(rest / 3600, 0), " h");
  }
  return cat(human_bytes(done), " of ", human_bytes(total), ", ", fixed(rate / 1e9, 2), " GB/s, ",
             left, " left");
}

Progress::Progress(std::string title, bool quiet, Of of)
    : title_(std::move(title)), terminal_(isatty(STDERR_FILENO) == 1), quiet_(quiet), of_(of) {}

void Progress::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
  last_tenth_ = 0;
}

// Standard output is written out first: what is left of a line there would continue behind ours.
void Progress::update(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (quiet_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const std::uint64_t tenth = done * 10 / total;
  if (!terminal_) {
    if (tenth == last_tenth_) return;
    last_tenth_ = tenth;
    std::fflush(stdout);
    const std::string more = of_ == Of::bytes ? cat(", ", pace(done, total, seconds)) : "";
    std::fputs(cat(title_, ": ", tenth * 10, " %", more, "\n").c_str(), stderr);
    return;
  }
  if (now - last_draw_ < std::chrono::milliseconds(50) && done < total) return;
  last_draw_ = now;
  drawn_ = true;
  std::fflush(stdout);
  const std::size_t width = of_ == Of::bytes ? 16 : 24;  // the line has to fit in 80 columns
  const std::size_t filled = static_cast<std::size_t>(done * width / total);
  std::fputs(cat("\r", title_, " [", std::string(filled, '#'), std::string(width - filled, '.'),
                 "] ", done * 100 / total, " %  ",
                 of_ == Of::bytes ? pace(done, total, seconds) : quote(what, 40), "\x1b[K")
                 .c_str(),
             stderr);
}

}  // namespace diecast::tool
