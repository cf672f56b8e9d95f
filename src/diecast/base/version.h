// The version of diecast. Before 1.0 a minor version may break programs built against another one.
#pragma once

#include <string_view>

// The version of these headers.
#define DIECAST_VERSION_MAJOR 0
#define DIECAST_VERSION_MINOR 1
#define DIECAST_VERSION_PATCH 0

namespace diecast {

// The version of the library that runs: "0.1.0".
std::string_view library_version();

}  // namespace diecast
