// Reading and cleaning compilers' logs.
#include <diecast/base/text.h>
#include <diecast/compile/log.h>

#include <algorithm>
#include <charconv>

namespace diecast {
namespace {

void append_escaped(std::string& out, unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

bool printable(unsigned char byte) {
  return byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

// The number that stands right before `unit` in `line`; 0 if there is none.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

bool is_ptxas_report(std::string_view line) {
  return line.substr(0, 14) == "ptxas info    " || line.substr(0, 15) == "ptxas         .";
}

// The line that "file(12): ..." or "file:12:5: ..." names; 0 if the message begins otherwise.
int line_of(std::string_view message, std::string_view file) {
  if (!message.starts_with(file)) return 0;
  message.remove_prefix(file.size());
  if (message.empty() || (message[0] != '(' && message[0] != ':')) return 0;
  const char* const end = message.data() + message.size();
  int number = 0;
  const auto [stop, status] = std::from_chars(message.data() + 1, end, number);
  return status == std::errc() && stop != end && number > 0 ? number : 0;
}

}  // namespace

std::string clean_log(std::string_view text, std::size_t limit) {
  text = trim(text);
  const std::size_t dropped = text.size() > limit ? text.size() - limit : 0;
  text = text.substr(0, limit);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    if (length == 0 || (length == 1 && !printable(byte))) {
      if (byte != '\r') append_escaped(out, byte);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  if (dropped > 0) out += cat("\n[", dropped, " more bytes of the log are left out]");
  return out;
}

PtxasReport read_ptxas_report(std::string_view log, std::string_view symbol) {
  const std::string entry = cat("Compiling entry function '", symbol, "'");
  PtxasReport report;
  bool ours = false;
  for (const std::string_view line : split(log, '\n')) {
    if (line.find("Compiling entry function") != std::string_view::npos)
      ours = line.find(entry) != std::string_view::npos;
    if (!ours || !is_ptxas_report(line)) continue;
    report.spill_bytes += number_before(line, " bytes spill stores");
    report.spill_bytes += number_before(line, " bytes spill loads");
    report.stack_bytes = std::max(report.stack_bytes, number_before(line, " bytes stack frame"));
    report.registers = std::max(report.registers, number_before(line, " registers"));
    report.static_shared_bytes =
        std::max(report.static_shared_bytes, number_before(line, " bytes smem"));
  }
  return report;
}

std::string without_ptxas_report(std::string_view log) {
  std::string out;
  for (const std::string_view line : split(log, '\n'))
    if (!is_ptxas_report(line)) out += cat(line, '\n');
  return out;
}

std::string without_drawn_names(std::string_view log, std::string_view directory) {
  std::string out;
  for (std::size_t at = log.find(directory); at != log.npos; at = log.find(directory)) {
    out += cat(log.substr(0, at), "kernel");
    log.remove_prefix(at + directory.size());
    log.remove_prefix(std::min(log.find_first_of(".: \n"), log.size()));
  }
  return out + std::string(log);
}

int warning_count(std::string_view log) {
  int count = 0;
  for (const std::string_view line : split(log, '\n'))
    count += line.find(": warning") != std::string_view::npos;
  return count;
}

int first_error_line(std::string_view log, std::string_view file) {
  bool in_error = false;  // the lines before are an error's, of whichever file
  int asks = 0;           // the file's line that asks for the template that the next error is in
  for (const std::string_view line : split(log, '\n')) {
    const auto says = [&](std::string_view what) { return line.find(what) != line.npos; };
    const int number = line_of(line, file);
    if (says("error")) {
      if (number > 0 || asks > 0) return number > 0 ? number : asks;
      in_error = true;
    } else if (says("warning")) {
      in_error = false;
      asks = 0;
    } else if (number > 0 && says("required from")) {
      asks = number;
    } else if (number > 0 && in_error &&
               (says("note: in expansion of macro") || says("note: in instantiation of"))) {
      return number;
    }
  }
  return 0;
}

}  // namespace diecast
