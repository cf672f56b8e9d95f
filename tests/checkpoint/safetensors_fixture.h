// A safetensors file of a test, and what its reader says is wrong with it. ST-01 to ST-25 in test
// names number the faults a file can have.
#pragma once

#include <checkpoint/checkpoint_files.h>
#include <diecast/checkpoint/safetensors.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace diecast::testing {

class SafetensorsReader : public ::testing::Test {
 protected:
  Result<diecast::SafetensorsReader> open(const std::string& bytes, bool strict = false) {
    write_text(path_, bytes);
    return diecast::SafetensorsReader::open(path_, strict);
  }
  // What is wrong with the file, without the path in front; empty when it opens.
  std::string fault(const std::string& bytes, bool strict = false) {
    const auto reader = open(bytes, strict);
    if (reader) return {};
    const Error& error = reader.error();
    EXPECT_EQ(code_word(error.code), "file_corrupt") << error.what;
    EXPECT_EQ(error.fix,
              "give a safetensors file; if \"" + path_ + "\" is one, write or download it again");
    const std::string prefix = "\"" + path_ + "\": ";
    EXPECT_EQ(error.what.substr(0, prefix.size()), prefix);
    return error.what.substr(std::min(prefix.size(), error.what.size()));
  }
  // One tensor "a" with these field texts, and eight bytes of data.
  std::string tensor_fault(const std::string& dtype, const std::string& shape,
                           const std::string& offsets, std::size_t data = 8) {
    return fault(file_of(R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape +
                             R"(,"data_offsets":)" + offsets + "}}",
                         std::string(data, 'x')));
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.safetensors";
};

// A tensor of eight bytes, and the bytes.
inline const std::string kOne = R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
inline const std::string kData = "01234567";

}  // namespace diecast::testing
