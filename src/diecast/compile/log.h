// What compilers print, made fit to store and to show: bounded, escaped, without the lines that
// only carry numbers; and those numbers read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace diecast {

inline constexpr std::size_t kLogLimit = 64u << 10;  // bytes of a log that are kept

// Printable text: control characters and bytes that are not UTF-8 become \x.., lines keep their
// ends, surrounding white space goes. What is beyond `limit` is cut, and said so.
std::string clean_log(std::string_view text, std::size_t limit = kLogLimit);

// The resources a kernel takes, as `ptxas -v` reports them.
struct PtxasReport {
  int registers = 0;            // a thread's
  int spill_bytes = 0;          // stores + loads of spilled registers, of all its functions
  int stack_bytes = 0;          // the largest frame of its functions
  int static_shared_bytes = 0;  // a block's
};
PtxasReport read_ptxas_report(std::string_view log, std::string_view symbol);

// The log without ptxas's reports: they hold times, so two equal compiles would differ in them.
std::string without_ptxas_report(std::string_view log);

// The log with the name "kernel" for what a compiler's parts hand on in their directory: the names
// that they draw differ from run to run. "/tmp/d/ccGHXbqq.s: warning" becomes "kernel.s: warning".
std::string without_drawn_names(std::string_view log, std::string_view directory);

// How many lines of it are warnings.
int warning_count(std::string_view log);

// The first line of `file` that an error in a compiler's message names, "file(12): error" or
// "file:12:5: error", or that leads to an error in a header: it expands a macro or asks for a
// template. 0 if there is none.
int first_error_line(std::string_view log, std::string_view file);

}  // namespace diecast
