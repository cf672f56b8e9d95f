// A checkpoint that the command's tests quantize.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "temporary_directory.h"

namespace diecast::testing {

// A checkpoint of one f32 weight of 2 rows of 32 and a norm.
inline void write_small_checkpoint(const std::string& path) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"n.norm.weight":{"dtype":"F32","shape":[2],"data_offsets":[256,264]},)"
      R"("n.up.weight":{"dtype":"F32","shape":[2,32],"data_offsets":[0,256]}})";
  std::string padded = header;
  while (padded.size() % 8 != 0) padded += ' ';
  std::string file(8, '\0');
  const std::uint64_t length = padded.size();
  std::memcpy(file.data(), &length, 8);
  file += padded;
  for (int i = 0; i < 66; ++i) {
    const float value = static_cast<float>(i % 13) - 6.0f;
    file.append(reinterpret_cast<const char*>(&value), 4);
  }
  write_text(path, file);
}

}  // namespace diecast::testing
