// The tables that embed.cmake generates at build. Not a public header.
#pragma once

#include <cstddef>

namespace diecast {

struct EmbeddedFile {
  const char* name;  // "amax.cu", "device/base/simt.h"; null ends the table
  const unsigned char* bytes;
  std::size_t size;
};

const EmbeddedFile* embedded_files();

}  // namespace diecast
