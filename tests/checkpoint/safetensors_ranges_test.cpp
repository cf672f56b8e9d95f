// The header's numbers: types, shapes, sizes, ranges, and limits on how many there are.
#include <checkpoint/safetensors_fixture.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "child_process.h"
#include "how_many.h"

namespace diecast::testing {
namespace {

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

TEST_F(SafetensorsReader, ST17_TensorsBeyondAMillionAreAnError) {
  std::string many = "{";
  for (int i = 0; i < 1'000'001; ++i) {
    many += (i ? ",\"" : "\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_EQ(fault(file_of(many + "}")), "more than 1000000 tensors");
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

// The most tensors that are allowed, in a header of 60 MB; and a header of 100 MB with more.
TEST_F(SafetensorsReader, ST17_MillionsOfTensorsTakeAsLongAsTheirJsonAndTenTimesTheHeader) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "a sanitizer takes time and memory of its own";
#endif
  const int tenth = testing::how_many(1, 10, 10);  // of the limit
  for (const int tensors : {tenth * 100'000, tenth * 150'000}) {
    std::string many = "{";
    for (int i = 0; i < tensors; ++i) {
      many += (i ? ",\"" : "\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    many += "}";
    write_text(path_, file_of(many));
    const std::int64_t header = static_cast<std::int64_t>(many.size());
    struct Cost {
      double seconds, of_json;  // of processor time
      std::int64_t bytes;
      bool opened;
    } cost{};
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const int exit_code = in_child([&] {
      rusage before{}, after{};
      ::getrusage(RUSAGE_SELF, &before);
      const auto start = std::clock();
      cost.opened = diecast::SafetensorsReader::open(path_).ok();
      const auto opened = std::clock();
      ::getrusage(RUSAGE_SELF, &after);
      (void)nlohmann::json::accept(many);
      cost.of_json = static_cast<double>(std::clock() - opened) / CLOCKS_PER_SEC;
      cost.seconds = static_cast<double>(opened - start) / CLOCKS_PER_SEC;
      cost.bytes = (after.ru_maxrss - before.ru_maxrss) * 1024;
      return ::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1;
    });
    ASSERT_EQ(exit_code, 0);
    ASSERT_EQ(::read(ends[0], &cost, sizeof cost), static_cast<ssize_t>(sizeof cost));
    ::close(ends[0]), ::close(ends[1]);
    std::printf(
        "%d tensors: %.2f s of processor time, JSON alone %.2f; %.1f bytes a byte of header\n",
        tensors, cost.seconds, cost.of_json,
        static_cast<double>(cost.bytes) / static_cast<double>(header));
    EXPECT_EQ(cost.opened, tensors <= 1'000'000);
    EXPECT_LT(cost.seconds, 2 * cost.of_json);
    EXPECT_LT(cost.bytes, 10 * header);
  }
}

}  // namespace
}  // namespace diecast::testing
