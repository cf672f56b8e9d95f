// Which diecast this is. Before 1.0 a minor version may change what programs were built against.
#pragma once

#include <string_view>

// Of the headers.
#define DIECAST_VERSION_MAJOR 0
#define DIECAST_VERSION_MINOR 1
#define DIECAST_VERSION_PATCH 0

namespace diecast {

std::string_view library_version();  // "0.1.0": of the library that runs

}  // namespace diecast
