// What a reader can meet, rule by rule: ST-01 to ST-25 number the faults of the format.
#include <checkpoint/checkpoint_files.h>
#include <diecast/checkpoint/safetensors.h>
#include <fake_file_system.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <temporary_directory.h>
#include <unistd.h>

#include <chrono>

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::file_of;
using testing::FileCall;
using testing::FileFault;
using testing::TemporaryDirectory;
using testing::write_text;

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
    EXPECT_EQ(error.fix, "write or download \"" + path_ + "\" again");
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

const std::string kOne = R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
const std::string kData = "01234567";

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

TEST_F(SafetensorsReader, ST05_TextThatIsNotUtf8IsAnError) {
  const auto name = [&](const std::string& text) {
    return fault(file_of("{\"" + text + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  };
  EXPECT_NE(name("\xFF"), "");
  EXPECT_NE(name("\xC0\xAF"), "") << "overlong";
  EXPECT_NE(name("\xE0\x80\xAF"), "") << "overlong";
  EXPECT_NE(name("\xED\xA0\x80"), "") << "a surrogate as UTF-8";
  EXPECT_NE(name("\\ud800"), "") << "a lone surrogate escape";
  EXPECT_NE(name("\\udc00\\ud800"), "") << "surrogates the wrong way round";
  EXPECT_EQ(fault("\x05" + std::string(7, '\0') + "\xEF\xBB\xBF{}"),
            "the header does not begin with {");
  EXPECT_EQ(name(std::string("a\0b", 3)), "the header holds a NUL byte");
  EXPECT_EQ(name("a\\u0000b"), "");
  EXPECT_EQ(name("\\ud83d\\ude00"), "");
}

TEST_F(SafetensorsReader, ST05_NamesWithNulAreWholeNames) {
  const auto reader =
      open(file_of(R"({"a\u0000b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  ASSERT_TRUE(reader);
  EXPECT_NE(reader->header().find(std::string_view("a\0b", 3)), nullptr);
  EXPECT_EQ(reader->header().find("a"), nullptr);
}

TEST_F(SafetensorsReader, ST06_WhatIsNoJsonObjectIsAnError) {
  for (const char* text : {"[]", "\"a\"", "1", "null", "// {}"}) {
    EXPECT_EQ(fault(file_of(text)), "the header does not begin with {") << text;
  }
  for (const char* text :
       {"{}x", "{}{}", "{/* */}", "{},", "{'a':1}", "{\"a\":}", "{a:1}", "{}]"}) {
    EXPECT_NE(fault(file_of(text)).find("the header is not JSON at byte"), std::string::npos)
        << text;
  }
  EXPECT_NE(fault(file_of("{" + kOne + ",}", kData)).find("the header is not JSON at byte"),
            std::string::npos);
}

TEST_F(SafetensorsReader, ST07_WhiteSpaceAroundTheObjectIsFineAndNulIsNot) {
  EXPECT_EQ(fault(file_of(" \t\r\n{" + kOne + "} \t\r\n", kData)), "");
  EXPECT_EQ(fault(file_of("{" + kOne + "}" + std::string(3, '\0'), kData)),
            "the header holds a NUL byte");
}

TEST_F(SafetensorsReader, ST08_DeepNestingEndsAtALimit) {
  const auto nested = [&](std::size_t depth, char open, char close) {
    const std::string inner =
        open == '[' ? std::string(depth, '[') + std::string(depth, ']') : [&] {
          std::string text;
          for (std::size_t i = 0; i < depth; ++i) text += "{\"x\":";
          return text + "0" + std::string(depth, '}');
        }();
    (void)close;
    return fault(
        file_of(R"({"a":{"extra":)" + inner + R"(,"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                kData));
  };
  EXPECT_EQ(nested(62, '[', ']'), "");
  EXPECT_EQ(nested(62, '{', '}'), "");
  for (const std::size_t depth : {63u, 129u, 1'000'000u}) {
    EXPECT_EQ(nested(depth, '[', ']'), "the header nests deeper than 64 levels") << depth;
    EXPECT_EQ(nested(depth, '{', '}'), "the header nests deeper than 64 levels") << depth;
  }
}

TEST_F(SafetensorsReader, ST09_DuplicateNameIsAnError) {
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(fault(file_of("{\"a\":" + empty + ",\"b\":" + empty + ",\"a\":" + empty + "}")),
            "tensor \"a\" is in the header twice");
  EXPECT_EQ(fault(file_of("{\"a\":" + empty + ",\"\\u0061\":" + empty + "}")),
            "tensor \"a\" is in the header twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{},"__metadata__":{}})")),
            "header entry \"__metadata__\": the entry is given twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{},"__metadat\u0061__":{}})")),
            "header entry \"__metadata__\": the entry is given twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"k":"1","\u006b":"2"}})")),
            "header entry \"k\": a metadata entry is given twice");
}

TEST_F(SafetensorsReader, ST09_DuplicateFieldIsAnError) {
  for (const std::string field : {R"("dtype":"U8")", R"("shape":[8])", R"("data_offsets":[0,8])"}) {
    const std::string key = field.substr(1, field.find('"', 1) - 1);
    EXPECT_EQ(fault(file_of(
                  R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],)" + field + "}}", kData)),
              "tensor \"a\", " + key + ": the field is given twice");
  }
}

TEST_F(SafetensorsReader, ST10_MetadataIsAnObjectOfStrings) {
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":"b","c":""}})")), "");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":[]})")),
            "header entry \"__metadata__\": an array is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":null})")),
            "header entry \"__metadata__\": null is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":1}})")),
            "header entry \"a\": a number is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":{"b":"c"}}})")),
            "header entry \"a\": an object is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":["c"]}})")),
            "header entry \"a\": an array is not allowed here");
  std::string many = R"({"__metadata__":{"k":"")";
  for (int i = 0; i < 1'000'000; ++i) many += ",\"" + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(fault(file_of(many + "}}")), "more than 100000 metadata entries");
}

TEST_F(SafetensorsReader, ST11_TensorNeedsItsThreeFields) {
  EXPECT_EQ(fault(file_of(R"({"a":1})")), "header entry \"a\": a number is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":null})")), "header entry \"a\": null is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":[]})")), "header entry \"a\": an array is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":{}})")), "tensor \"a\" has no dtype");
  EXPECT_EQ(fault(file_of(R"({"a":{"dtype":"U8"}})")), "tensor \"a\" has no shape");
  EXPECT_EQ(fault(file_of(R"({"a":{"dtype":"U8","shape":[]}})")),
            "tensor \"a\" has no data_offsets");
  EXPECT_EQ(tensor_fault("8", "[8]", "[0,8]"), "tensor \"a\", dtype: a number is not allowed here");
  EXPECT_EQ(tensor_fault("[\"U8\"]", "[8]", "[0,8]"),
            "tensor \"a\", dtype: an array is not allowed here");
  EXPECT_EQ(tensor_fault("{}", "[8]", "[0,8]"),
            "tensor \"a\", dtype: an object is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "8", "[0,8]"),
            "tensor \"a\", shape: a number is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "{}", "[0,8]"),
            "tensor \"a\", shape: an object is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "null"),
            "tensor \"a\", data_offsets: null is not allowed here");
}

TEST_F(SafetensorsReader, ST11_UnknownFieldIsIgnoredUnlessStrict) {
  const std::string bytes = file_of(
      R"({"a":{"x":{"y":[1,-2,3.5,null,true,{"dtype":"?"}]},"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
      kData);
  EXPECT_EQ(fault(bytes), "");
  EXPECT_EQ(fault(bytes, true), "tensor \"a\": unknown field \"x\"");
}

TEST_F(SafetensorsReader, ST12_UnknownTypeIsAnError) {
  EXPECT_EQ(tensor_fault("\"u8\"", "[8]", "[0,8]"),
            "tensor \"a\", dtype: \"u8\" is not a known element type");
  EXPECT_EQ(tensor_fault("\"\"", "[8]", "[0,8]"),
            "tensor \"a\", dtype: \"\" is not a known element type");
  EXPECT_NE(tensor_fault("\"F16 \"", "[4]", "[0,8]"), "");
  EXPECT_LT(tensor_fault("\"" + std::string(1'000'000, 'x') + "\"", "[8]", "[0,8]").size(), 200u);
}

TEST_F(SafetensorsReader, ST12_PackedTypesFillWholeBytes) {
  EXPECT_EQ(tensor_fault("\"F4\"", "[16]", "[0,8]"), "");
  EXPECT_EQ(tensor_fault("\"F4\"", "[15]", "[0,8]"),
            "tensor \"a\", shape [15]: the elements do not fill whole bytes");
  EXPECT_EQ(tensor_fault("\"F6_E2M3\"", "[4]", "[0,3]", 3), "");
  EXPECT_EQ(tensor_fault("\"F6_E3M2\"", "[5]", "[0,4]", 4),
            "tensor \"a\", shape [5]: the elements do not fill whole bytes");
  EXPECT_EQ(tensor_fault("\"F8_E8M0\"", "[8]", "[0,8]"), "");
}

TEST_F(SafetensorsReader, ST12_EveryKnownTypeHasItsWidth) {
  int known = 0;
  for (const auto& [name, bytes] : std::map<std::string, int>{{"BOOL", 1},
                                                              {"U8", 1},
                                                              {"I8", 1},
                                                              {"F8_E5M2", 1},
                                                              {"F8_E4M3", 1},
                                                              {"F8_E8M0", 1},
                                                              {"F8_E4M3FNUZ", 1},
                                                              {"F8_E5M2FNUZ", 1},
                                                              {"I16", 2},
                                                              {"U16", 2},
                                                              {"F16", 2},
                                                              {"BF16", 2},
                                                              {"I32", 4},
                                                              {"U32", 4},
                                                              {"F32", 4},
                                                              {"C64", 8},
                                                              {"F64", 8},
                                                              {"I64", 8},
                                                              {"U64", 8}}) {
    EXPECT_EQ(tensor_fault("\"" + name + "\"", "[1]", "[0," + std::to_string(bytes) + "]",
                           static_cast<std::size_t>(bytes)),
              "");
    ++known;
  }
  EXPECT_EQ(known, 19);
}

TEST_F(SafetensorsReader, ST13_ShapesAreUnsignedIntegers) {
  const std::string fraction =
      "tensor \"a\", shape: a number that is no integer of 64 bits is not allowed here";
  EXPECT_EQ(tensor_fault("\"U8\"", "[-8]", "[0,8]"),
            "tensor \"a\", shape: a negative number is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8.0]", "[0,8]"), fraction);
  EXPECT_EQ(tensor_fault("\"U8\"", "[1e3]", "[0,8]"), fraction);
  EXPECT_EQ(tensor_fault("\"U8\"", "[18446744073709551616]", "[0,8]"), fraction);
  EXPECT_EQ(tensor_fault("\"U8\"", "[\"8\"]", "[0,8]"),
            "tensor \"a\", shape: a string is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[true]", "[0,8]"),
            "tensor \"a\", shape: a boolean is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[[8]]", "[0,8]"),
            "tensor \"a\", shape: an array is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[-0]", "[0,0]", 0),
            "tensor \"a\", shape: a negative number is not allowed here");
  EXPECT_NE(tensor_fault("\"U8\"", "[08]", "[0,8]").find("is not JSON"), std::string::npos);
  EXPECT_NE(tensor_fault("\"U8\"", "[1e999]", "[0,8]").find("is not JSON"), std::string::npos);
  EXPECT_EQ(tensor_fault("\"U8\"", "[9007199254740993]", "[0,8]"),
            "tensor \"a\": U8 [9007199254740993] takes 9007199254740993 bytes, data_offsets [0, 8] "
            "give it 8");
}

TEST_F(SafetensorsReader, ST13_RankGoesFromZeroToSixtyFour) {
  const auto of_rank = [&](std::size_t rank) {
    std::string shape;
    for (std::size_t i = 0; i < rank; ++i) shape += i ? ",1" : "1";
    return tensor_fault("\"U8\"", "[" + shape + "]", "[0,1]", 1);
  };
  EXPECT_EQ(of_rank(0), "");
  EXPECT_EQ(of_rank(64), "");
  EXPECT_EQ(of_rank(65), "tensor \"a\", shape: more than 64 dimensions");
  EXPECT_EQ(of_rank(1'000'000), "tensor \"a\", shape: more than 64 dimensions");
}

TEST_F(SafetensorsReader, ST14_ProductsThatOverflowAreErrors) {
  EXPECT_EQ(tensor_fault("\"U8\"", "[4294967296,4294967296]", "[0,0]", 0),
            "tensor \"a\", shape [4294967296, 4294967296]: more elements than 64 bits count");
  EXPECT_EQ(
      tensor_fault("\"U8\"", "[4194305,4194305,211106198978564]", "[0,16]", 16),
      "tensor \"a\", shape [4194305, 4194305, 211106198978564]: more elements than 64 bits count");
  EXPECT_EQ(tensor_fault("\"F32\"", "[9223372036854775808]", "[0,0]", 0),
            "tensor \"a\", shape [9223372036854775808]: more bits than 64 bits count");
  EXPECT_EQ(tensor_fault("\"U8\"", "[0,9223372036854775808]", "[0,0]", 0), "");
  EXPECT_EQ(tensor_fault("\"U8\"", "[4294967296,4294967296,0]", "[0,0]", 0),
            "tensor \"a\", shape [4294967296, 4294967296, 0]: more elements than 64 bits count");
}

TEST_F(SafetensorsReader, ST15_OffsetsAreTwoIntegersInOrder) {
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[]"), "tensor \"a\", data_offsets: not two numbers");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[0]"), "tensor \"a\", data_offsets: not two numbers");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[0,8,8]"),
            "tensor \"a\", data_offsets: more than two numbers");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[-1,8]"),
            "tensor \"a\", data_offsets: a negative number is not allowed here");
  EXPECT_EQ(
      tensor_fault("\"U8\"", "[8]", "[0,8.0]"),
      "tensor \"a\", data_offsets: a number that is no integer of 64 bits is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[8,0]"),
            "tensor \"a\": data_offsets [8, 0] end before they begin");
}

TEST_F(SafetensorsReader, ST15_RangesCoverTheDataExactly) {
  EXPECT_EQ(tensor_fault("\"U8\"", "[9]", "[0,9]"),
            "the tensors take 9 bytes, the file has 8 bytes of data");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "[0,7]"),
            "tensor \"a\": U8 [8] takes 8 bytes, data_offsets [0, 7] give it 7");
  EXPECT_EQ(tensor_fault("\"U8\"", "[7]", "[1,8]"),
            "tensor \"a\" begins at byte 1 of the data, the tensor before it ends at 0");
  EXPECT_EQ(tensor_fault("\"U8\"", "[1]", "[18446744073709551614,18446744073709551615]"),
            "tensor \"a\" begins at byte 18446744073709551614 of the data, the tensor before it "
            "ends at 0");
  EXPECT_EQ(tensor_fault("\"U8\"", "[18446744073709551615]", "[0,18446744073709551615]"),
            "tensor \"a\", shape [18446744073709551615]: more bits than 64 bits count");
  const auto pair = [&](const std::string& b) {
    return fault(file_of(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8",)" + b + "}}",
        kData));
  };
  EXPECT_EQ(pair(R"("shape":[4],"data_offsets":[4,8])"), "");
  EXPECT_EQ(pair(R"("shape":[3],"data_offsets":[5,8])"),
            "tensor \"b\" begins at byte 5 of the data, the tensor before it ends at 4");
  EXPECT_EQ(pair(R"("shape":[5],"data_offsets":[3,8])"),
            "tensor \"b\" begins at byte 3 of the data, the tensor before it ends at 4");
}

TEST_F(SafetensorsReader, ST15_EmptyTensorMayShareAnOffset) {
  const auto with_empty = [&](int at) {
    const std::string offset = std::to_string(at);
    return fault(file_of(R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[)" + offset + "," +
                             offset + "]}," + kOne + "}",
                         kData));
  };
  EXPECT_EQ(with_empty(0), "");
  EXPECT_EQ(with_empty(8), "");
  EXPECT_EQ(with_empty(4),
            "tensor \"e\" begins at byte 4 of the data, the tensor before it ends at 8");
  EXPECT_EQ(with_empty(9),
            "tensor \"e\" begins at byte 9 of the data, the tensor before it ends at 8");
}

TEST_F(SafetensorsReader, ST16_BytesMissingOrLeftOverAreErrors) {
  EXPECT_EQ(fault(file_of("{" + kOne + "}", kData + "!")),
            "the tensors take 8 bytes, the file has 9 bytes of data");
  EXPECT_EQ(fault(file_of("{" + kOne + "}", "0123456")),
            "the tensors take 8 bytes, the file has 7 bytes of data");
  EXPECT_EQ(fault(file_of("{}", "!")), "the tensors take 0 bytes, the file has 1 bytes of data");
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

TEST_F(SafetensorsReader, ST17_MillionsOfTensorsEndAtALimitSoon) {
  std::string many = "{";
  for (int i = 0; i < 1'500'000; ++i) {
    many += (i ? ",\"" : "\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(fault(file_of(many + "}")), "more than 1000000 tensors");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20))
      << "2 in a release build";
}

TEST_F(SafetensorsReader, ST17_TensorsThatShareBytesAreAnError) {
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) {
    many += (i ? ",\"" : "\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
  }
  EXPECT_EQ(fault(file_of(many + "}", kData)),
            "tensor \"1\" begins at byte 0 of the data, the tensor before it ends at 8");
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
  EXPECT_EQ(testing::tree(folder_.path()), std::vector<std::string>{"model.safetensors"});
}

TEST_F(SafetensorsReader, ST19_DataMayStartAtAnyByte) {
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}} )";
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
  const off_t begin = static_cast<off_t>(testing::text_of(path_).size());
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
}  // namespace diecast
