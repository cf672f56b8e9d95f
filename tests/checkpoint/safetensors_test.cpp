// The reader and its file: lengths, change while open, what is no regular file, failing reads.
#include <checkpoint/safetensors_fixture.h>
#include <fake_file_system.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace diecast::testing {
namespace {

TEST_F(SafetensorsReader, ReadsWhatAFileHolds) {
  const auto reader = open(file_of("{\"__metadata__\":{\"format\":\"pt\"}," + kOne + "}", kData));
  ASSERT_TRUE(reader) << reader.error().message();
  const SafetensorsHeader& header = reader->header();
  ASSERT_EQ(header.tensors.size(), 1u);
  EXPECT_EQ(header.metadata, (Metadata{{"format", "pt"}}));
  const TensorInfo* tensor = header.find("a");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->dtype, StoredDType::u8);
  EXPECT_EQ(tensor->elements(), 8u);
  EXPECT_EQ(header.find("b"), nullptr);
  std::string part(3, '\0');
  ASSERT_TRUE(reader->read(*tensor, 2, std::as_writable_bytes(std::span(part))));
  EXPECT_EQ(part, "234");
  const auto beyond = reader->read(*tensor, 6, std::as_writable_bytes(std::span(part)));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().what, "bytes 6 to 9 of tensor \"a\" were asked for, it has 8");
}

TEST_F(SafetensorsReader, ST01_FileOfLessThanEightBytesIsAnError) {
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(fault(std::string(size, '\0')),
              "the file has " + std::to_string(size) + " bytes, a header's length takes 8");
  }
}

TEST_F(SafetensorsReader, ST02_SmallestHeaderIsAnEmptyObject) {
  EXPECT_EQ(fault(file_of("")), "the header does not begin with {");
  EXPECT_EQ(fault(file_of("{")), "the header is not JSON at byte 2, near \"{\"");
  EXPECT_EQ(fault(file_of("{}")), "");
}

TEST_F(SafetensorsReader, ST03_HeaderLengthsAreHeldAgainstLimitAndFile) {
  const std::string body = "{" + kOne + "}";
  const auto claiming = [&](std::uint64_t length) {
    std::string bytes = file_of(body, kData);
    std::memcpy(bytes.data(), &length, 8);
    return fault(bytes);
  };
  for (const std::uint64_t length : {100'000'001ull, 1ull << 31, 1ull << 32, 1ull << 63, ~0ull}) {
    EXPECT_EQ(claiming(length),
              "the header claims " + std::to_string(length) + " bytes, the limit is 100000000");
  }
  const std::uint64_t rest = body.size() + kData.size();
  EXPECT_EQ(claiming(rest + 1), "the header claims " + std::to_string(rest + 1) +
                                    " bytes, the file has " + std::to_string(rest) + " left");
  EXPECT_EQ(claiming(100'000'000),
            "the header claims 100000000 bytes, the file has " + std::to_string(rest) + " left");
  EXPECT_EQ(fault(file_of("{}" + std::string(99'999'998, ' '))), "") << "exactly the limit";
  EXPECT_NE(claiming(rest), "") << "data read as header";
}

TEST_F(SafetensorsReader, ST04_TruncatedHeaderIsAnErrorAtEveryByte) {
  const std::string whole = file_of("{" + kOne + "}", kData);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(fault(whole.substr(0, size)), "") << size;
  }
  EXPECT_EQ(fault(whole), "");
}

TEST_F(SafetensorsReader, ST16_FileThatShrinksWhileOpenIsAnErrorOfItsOwn) {
  const std::string bytes = file_of("{" + kOne + "}", kData);
  const auto reader = open(bytes);
  ASSERT_TRUE(reader);
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(bytes.size() - 4)), 0);
  std::string data(8, '\0');
  const auto read =
      reader->read(reader->header().tensors[0], 0, std::as_writable_bytes(std::span(data)));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            "diecast: io_error: \"" + path_ +
                "\" changed while it was read\n  fix: run again when nothing writes to the file");
}

TEST_F(SafetensorsReader, ST16_FileThatGrowsOrIsRewrittenWhileOpenIsNoticed) {
  const auto reader = open(file_of("{" + kOne + "}", kData));
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->unchanged());
  { std::ofstream(path_, std::ios::app) << "more"; }
  EXPECT_FALSE(reader->unchanged());
  const auto second = open(file_of("{" + kOne + "}", kData));
  ASSERT_TRUE(second);
  const timespec later[2] = {{2'000'000'000, 0}, {2'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), later, 0), 0);
  EXPECT_FALSE(second->unchanged());
}

TEST_F(SafetensorsReader, ST16_FileReplacedWhileOpenIsReadAsItWasOpened) {
  const auto reader = open(file_of("{" + kOne + "}", kData));
  ASSERT_TRUE(reader);
  write_text(path_ + ".new", file_of("{}"));
  ASSERT_EQ(::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  std::string data(8, '\0');
  EXPECT_TRUE(
      reader->read(reader->header().tensors[0], 0, std::as_writable_bytes(std::span(data))));
  EXPECT_EQ(data, kData);
  EXPECT_TRUE(reader->unchanged());
}

TEST_F(SafetensorsReader, ST18_NamesAreDataAndNeverPaths) {
  const std::vector<std::string> names = {
      "",          "../x", "/etc/x", "\xF0\x9F\x98\x80",         "\xC3\xA9",
      "e\xCC\x81", "A",    "a",      std::string(1'000'000, 'n')};
  std::string header = "{";
  for (const std::string& name : names) {
    header += (header.size() > 1 ? ",\"" : "\"") + name +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const auto reader = open(file_of(header + "}"));
  ASSERT_TRUE(reader) << reader.error().message();
  for (const std::string& name : names) EXPECT_NE(reader->header().find(name), nullptr);
  EXPECT_EQ(tree(folder_.path()), std::vector<std::string>{"model.safetensors"});
}

TEST_F(SafetensorsReader, ST19_DataMayStartAtAnyByte) {
  const std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("f":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}} )";
  const auto reader = open(file_of(header, "!" + kData));
  ASSERT_TRUE(reader);
  EXPECT_NE((reader->header().data_begin + 1) % 8, 0u);
  std::string data(8, '\0');
  EXPECT_TRUE(
      reader->read(*reader->header().find("f"), 0, std::as_writable_bytes(std::span(data))));
  EXPECT_EQ(data, kData);
}

TEST_F(SafetensorsReader, ST22_WhatIsNoRegularFileIsAnError) {
  const auto error = [](const std::string& path) {
    return diecast::SafetensorsReader::open(path).error();
  };
  EXPECT_EQ(error(folder_.path()).message(),
            "diecast: io_error: \"" + folder_.path() +
                "\" is a directory\n  fix: give the path of a .safetensors file");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(error(path_).what, "\"" + path_ + "\" is not a regular file");
  EXPECT_EQ(error("/dev/zero").what, "\"/dev/zero\" is not a regular file");
  EXPECT_EQ(error("/proc/self/status").what,
            "\"/proc/self/status\": the file has 0 bytes, a header's length takes 8");
  EXPECT_EQ(code_word(error(folder_ / "none").code), "file_not_found");
}

TEST_F(SafetensorsReader, ST23_ReadErrorAnywhereIsReported) {
  write_text(path_, file_of("{" + kOne + "}", kData));
  for (int number = 1; number <= 3; ++number) {  // length, header, data
    int reads = 0;
    FakeFileSystem files([&](const FileCall& call) {
      reads += call.name == "read_at";
      return FileFault{call.name == "read_at" && reads == number ? EIO : 0};
    });
    const auto reader = diecast::SafetensorsReader::open(path_, false, files);
    if (!reader) {
      EXPECT_LT(number, 3);
      EXPECT_EQ(code_word(reader.error().code), "io_error");
      continue;
    }
    std::string data(8, '\0');
    const auto read =
        reader->read(reader->header().tensors[0], 0, std::as_writable_bytes(std::span(data)));
    ASSERT_FALSE(read);
    EXPECT_EQ(code_word(read.error().code), "io_error");
    EXPECT_NE(read.error().what.find("read tensor \"a\" of"), std::string::npos)
        << read.error().what;
  }
}

TEST_F(SafetensorsReader, ST23_ShortReadsGoOn) {
  write_text(path_, file_of("{" + kOne + "}", kData));
  FakeFileSystem files([](const FileCall&) { return FileFault{0, false, 1}; });
  const auto reader = diecast::SafetensorsReader::open(path_, false, files);
  ASSERT_TRUE(reader);
  std::string data(8, '\0');
  EXPECT_TRUE(
      reader->read(reader->header().tensors[0], 0, std::as_writable_bytes(std::span(data))));
  EXPECT_EQ(data, kData);
}

TEST_F(SafetensorsReader, ST24_FileWithoutReadPermissionIsAnError) {
  write_text(path_, file_of("{}"));
  FakeFileSystem files(FakeFileSystem::refuse("open_at", EACCES));  // root may read everything
  const auto reader = diecast::SafetensorsReader::open(path_, false, files);
  ASSERT_FALSE(reader);
  EXPECT_EQ(code_word(reader.error().code), "io_error");
  EXPECT_NE(reader.error().what.find("Permission denied"), std::string::npos)
      << reader.error().what;
}

TEST_F(SafetensorsReader, ST25_SparseFileOfTerabytesCostsWhatIsReadOfIt) {
  const std::uint64_t size = std::uint64_t{8} << 40;
  write_text(
      path_,
      file_of(R"({"a":{"dtype":"U8","shape":[8796093022208],"data_offsets":[0,8796093022208]}})"));
  const off_t begin = static_cast<off_t>(text_of(path_).size());
  if (::truncate(path_.c_str(), begin + static_cast<off_t>(size)) != 0) {
    GTEST_SKIP() << "this file system has no files of 8 TiB: " << std::strerror(errno);
  }
  const auto reader = diecast::SafetensorsReader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  std::string end(4, 'x');
  EXPECT_TRUE(
      reader->read(reader->header().tensors[0], size - 4, std::as_writable_bytes(std::span(end))));
  EXPECT_EQ(end, std::string(4, '\0'));
}

}  // namespace
}  // namespace diecast::testing
