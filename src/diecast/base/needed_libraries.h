// The shared libraries that a program on disk is linked to, found as the loader finds them and
// without loading one.
#pragma once

#include <string>
#include <vector>

namespace diecast {

struct NeededLibrary {
  std::string name;  // "libLLVM-14.so.1"
  std::string path;  // empty where it is in none of the folders
};

// What an ELF file names itself, not what its libraries need. Nothing for any other file. Folders:
// those of the file, of LD_LIBRARY_PATH, and of the system.
std::vector<NeededLibrary> needed_libraries(const std::string& path);

}  // namespace diecast
