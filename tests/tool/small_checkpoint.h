// A checkpoint that the command's tests quantize.
#pragma once

#include <string>

#include "checkpoint/checkpoint_files.h"

namespace diecast::testing {

// A checkpoint of one f32 weight of 2 rows of 32 and a norm.
inline void write_small_checkpoint(const std::string& path) {
  std::string data;
  for (int i = 0; i < 66; ++i) {
    const float value = static_cast<float>(i % 13) - 6.0f;
    data.append(reinterpret_cast<const char*>(&value), 4);
  }
  TestFile file;
  file.tensors["l.0.n.up.weight"] = {"F32", {2, 32}, data.substr(0, 256)};
  file.tensors["l.0.n.norm.weight"] = {"F32", {2}, data.substr(256)};
  file.metadata["format"] = "pt";
  write_text(path, encode(file));
}

}  // namespace diecast::testing
