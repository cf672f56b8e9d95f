// NumPy's files: what is read, and what is refused.
#include <diecast/base/npy.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "temporary_directory.h"

namespace diecast {
namespace {

// A file of version 1 with this header, not padded, and so many bytes of elements.
std::string file_of(const std::string& header, std::size_t bytes) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + std::string(bytes, '\0');
}

std::string dictionary(const std::string& type, const std::string& shape,
                       const std::string& by_columns = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + by_columns + ", 'shape': " + shape + ", }";
}

std::string refusal(const std::string& file) {
  const auto array = parse_npy(as_bytes(file), "x.npy");
  return array ? "read" : array.error().message();
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const std::vector<std::int64_t> shapes[] = {
      {}, {5}, {0, 3}, {2, 3, 4}, std::vector<std::int64_t>(64, 1)};
  for (const auto& shape : shapes) {
    const Bytes header = npy_header("<f4", shape);
    EXPECT_EQ(header.size() % 64, 0u);
    std::string file(reinterpret_cast<const char*>(header.data()), header.size());
    std::size_t bytes = 4;
    for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
    file += std::string(bytes, '\0');
    const auto array = parse_npy(as_bytes(file), "x.npy");
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(array->type, "<f4");
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->begin, header.size());
  }
}

// As numpy.save writes it, and in the later versions of the format.
TEST(Npy, ReadsWhatNumPyWrites) {
  std::string file = file_of(dictionary("<f2", "(3, 4)") + std::string(20, ' ') + "\n", 24);
  auto array = parse_npy(as_bytes(file), "x.npy");
  ASSERT_TRUE(array) << array.error().message();
  EXPECT_EQ(array->shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(array->begin, file.size() - 24);
  file[6] = '\x03';
  file.insert(10, 2, '\0');  // a length of 4 bytes
  EXPECT_TRUE(parse_npy(as_bytes(file), "x.npy"));
  EXPECT_EQ(refusal(file_of("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|V2\"}", 2)),
            "read");
}

// A sparse file of a terabyte: whoever read its elements would not come to an end.
TEST(Npy, TellsItsShapeByTheHeaderAlone) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/x.npy";
  const std::vector<std::int64_t> shape = {std::int64_t{1} << 28, 1024};
  const Bytes header = npy_header("<f4", shape);
  std::ofstream(path).write(reinterpret_cast<const char*>(header.data()),
                            static_cast<std::streamsize>(header.size()));
  std::error_code failed;
  std::filesystem::resize_file(path, header.size() + (std::uintmax_t{1} << 40), failed);
  if (failed) GTEST_SKIP() << "no sparse file of a terabyte: " << failed.message();
  const auto array = read_npy_header(system_files(), path);
  ASSERT_TRUE(array) << array.error().message();
  EXPECT_EQ(array->shape, shape);
  EXPECT_EQ(array->begin, header.size());
  std::filesystem::resize_file(path, header.size() + 1);
  EXPECT_EQ(read_npy_header(system_files(), path).error().what,
            cat(quote(path), ": its shape takes 1099511627776 bytes, and it has 1"));
  std::filesystem::resize_file(path, 20);
  EXPECT_EQ(read_npy_header(system_files(), path).error().what,
            cat(quote(path), ": cut short in its header"));
}

TEST(Npy, ThatLiesAboutItsBytesIsRefused) {
  EXPECT_EQ(refusal(file_of(dictionary("<f4", "(3, 4)"), 44)),
            "diecast: file_corrupt: \"x.npy\": its shape takes 48 bytes, and it has 44\n"
            "  fix: give a file that numpy.save has written, whole");
  EXPECT_NE(refusal(file_of(dictionary("<f4", "(3, 4)"), 52)).find("it has 52"), std::string::npos);
  EXPECT_NE(refusal(file_of(dictionary("<f4", "(4611686018427387904, 4611686018427387904)"), 0))
                .find("a shape beyond all measure"),
            std::string::npos);
}

TEST(Npy, CutShortAnywhereIsRefused) {
  const std::string whole = file_of(dictionary("<f4", "(3,)"), 12);
  ASSERT_EQ(refusal(whole), "read");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "read") << size;
}

TEST(Npy, OfAnotherOrderOrKindOfElementsIsRefusedWithAWayOut) {
  EXPECT_EQ(refusal(file_of(dictionary("<f4", "(3, 4)", "True"), 48)),
            "diecast: not_supported: \"x.npy\" is column-major (fortran_order)\n"
            "  fix: save it as numpy.ascontiguousarray(x) of a plain number type");
  for (const char* type : {">f4", "|O", "<U3", "|O8", "<f", "<f0", "<f-4", "<f99", "f4", ""})
    EXPECT_NE(refusal(file_of(dictionary(type, "(3, 4)"), 48)).find("not_supported"),
              std::string::npos)
        << type;
  const char* fields = "{'descr': [('a', '<f4', (2,)), ('b', [('c', '|u1')])], ";
  EXPECT_NE(refusal(file_of(cat(fields, "'fortran_order': False, 'shape': (3,)}"), 12))
                .find("not_supported: \"x.npy\" has elements of the type \"[('a', '<f4', (2,))"),
            std::string::npos);
}

TEST(Npy, WithAStrangeHeaderIsRefused) {
  const std::string headers[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4', 'fortran_order': False}",
      dictionary("<f4", "(3)"),
      dictionary("<f4", "3"),
      dictionary("<f4", "(-3,)"),
      dictionary("<f4", "(,)"),
      dictionary("<f4", "(3, 99999999999999999999)"),
      dictionary("<f4", "(3,)", "Maybe"),
      dictionary("<f4", "(3,)") + " and more",
      "{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (3,)}",
      "{'shape': (3,), 'shape': (3,), 'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
  };
  for (const std::string& header : headers)
    EXPECT_NE(refusal(file_of(header, 12)).find("a strange header"), std::string::npos) << header;
  std::string extents;
  for (int i = 0; i < 65; ++i) extents += "1,";
  EXPECT_NE(refusal(file_of(dictionary("<f4", "(" + extents + ")"), 4)).find("a strange header"),
            std::string::npos);
}

TEST(Npy, OfAnotherVersionOrAHugeHeaderIsRefused) {
  std::string file = file_of(dictionary("<f4", "(3,)"), 12);
  file[6] = '\x04';
  EXPECT_NE(refusal(file).find("version 4 of the format"), std::string::npos);
  EXPECT_NE(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12))
                .find("a header of 2147483647 bytes"),
            std::string::npos);
  EXPECT_NE(refusal("PK\x03\x04 a whole .npz file").find("no .npy file"), std::string::npos);
}

}  // namespace
}  // namespace diecast
