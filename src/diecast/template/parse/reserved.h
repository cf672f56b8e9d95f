// Words a template cannot declare: the header language's own and those of C++. Not a public header.
#pragma once

#include <span>
#include <string_view>

namespace diecast {

// Why the word is taken ("a word of C++"); empty if it is free.
std::string_view reserved_word(std::string_view name);
// The same of a kernel's name, which is a function's: what expressions alone say is free.
std::string_view reserved_kernel(std::string_view name);

// The limits of C and C++ (INFINITY, INT_MAX, ...), which are macros of every kernel.
std::span<const std::string_view> limits();

}  // namespace diecast
