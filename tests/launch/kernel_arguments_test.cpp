// The typed check of a launch's arguments and how they are packed; every refusal whole.
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::address;
using Argument = KernelArgument;

constexpr const char* kArgumentsText = R"(/* diecast
shape  int  COLS = 0
option type IN {bf16, f32} = bf16
size rows device
size cols = COLS
size groups
arg x      in    IN   [rows, cols] stride align 16
arg codes  out   u8   [rows, cols / 2] align 8
arg amax   inout f32  [1]
arg rows
arg cols
arg groups
arg eps    f32
arg table  struct Table 24
launch grid(rows) block(32)
target sm_80+
*/
struct Table { i64 a, b, c; };
DIECAST_KERNEL {}
)";
constexpr const char* kSpelling = "k COLS=0 IN=bf16 @ sm_90a: ";

class ArgumentCheckTest : public ::testing::Test {
 protected:
  explicit ArgumentCheckTest(const Bindings& bindings = {})
      : specialization_(testing::specialize("k", kArgumentsText, bindings)),
        slots_(LaunchSlots::make(specialization_).value()),
        check_(ArgumentCheck::make(specialization_, slots_).value()) {}

  // A right call; a test makes one thing wrong.
  std::vector<Argument> arguments() const {
    return {Argument::tensor(DType::bf16, address(0x1000)),
            Argument::tensor(DType::u8, address(0x2000)),
            Argument::tensor(DType::f32, address(0x3000)),
            Argument::size(7),
            Argument::size(64),
            Argument::size(3),
            Argument::scalar(0.5f),
            Argument::bytes(table_, 24)};
  }
  Result<void> pack(const std::vector<Argument>& given) {
    return check_.pack(given, values_, packed_);
  }
  // The error's text without the kernel's spelling; the code's word before it.
  std::string refusal(const std::vector<Argument>& given) {
    const auto packed = pack(given);
    if (packed) return "";
    std::string message = packed.error().message();
    const std::size_t at = message.find(kSpelling);
    return at == std::string::npos ? message : message.erase(at, std::strlen(kSpelling));
  }
  std::string with(std::size_t index, const Argument& argument) {
    auto given = arguments();
    given[index] = argument;
    return refusal(given);
  }
  template <class T>
  T parameter(std::size_t index) const {
    T value;
    std::memcpy(&value, packed_.pointers[index], sizeof value);
    return value;
  }

  std::int64_t table_[3] = {1, 2, 3};
  Specialization specialization_;
  LaunchSlots slots_;
  ArgumentCheck check_;
  LaunchSlots::Values values_{};
  PackedParameters packed_{};
};

TEST_F(ArgumentCheckTest, PacksOneParameterAfterAnother) {
  auto given = arguments();
  given[0] = Argument::tensor(DType::bf16, address(0x1000), 80);
  ASSERT_TRUE(pack(given));
  EXPECT_EQ(parameter<void*>(0), address(0x1000));
  EXPECT_EQ(parameter<std::int64_t>(1), 80);
  EXPECT_EQ(parameter<void*>(2), address(0x2000));
  EXPECT_EQ(parameter<void*>(3), address(0x3000));
  EXPECT_EQ(parameter<void*>(4), nullptr);  // rows: from the host
  EXPECT_EQ((parameter<std::array<std::int64_t, 2>>(4)[1]), 7);
  EXPECT_EQ(parameter<std::int64_t>(5), 64);
  EXPECT_EQ(parameter<std::int64_t>(6), 3);
  EXPECT_EQ(parameter<float>(7), 0.5f);
  EXPECT_EQ((parameter<std::array<std::int64_t, 3>>(8)), (std::array<std::int64_t, 3>{1, 2, 3}));
  EXPECT_EQ(check_.parameter_bytes(), (std::vector<std::size_t>{8, 8, 8, 8, 16, 8, 8, 4, 24}));
  EXPECT_EQ(values_[*slots_.find("rows")], 7);
  EXPECT_EQ(values_[*slots_.find("cols")], 64);
  EXPECT_EQ(values_[*slots_.find("groups")], 3);
}

TEST_F(ArgumentCheckTest, DenseRowsAreAsFarApartAsTheyAreLong) {
  ASSERT_TRUE(pack(arguments()));
  EXPECT_EQ(parameter<std::int64_t>(1), 64);
}

TEST_F(ArgumentCheckTest, SizeInDeviceMemoryPassesItsAddressAndBound) {
  auto given = arguments();
  given[3] = Argument::device_size(static_cast<std::int64_t*>(address(0x4008)), 100);
  ASSERT_TRUE(pack(given));
  EXPECT_EQ(parameter<void*>(4), address(0x4008));
  EXPECT_EQ((parameter<std::array<std::int64_t, 2>>(4)[1]), 100);
  EXPECT_EQ(values_[*slots_.find("rows")], 100);
}

TEST_F(ArgumentCheckTest, CountIsChecked) {
  auto given = arguments();
  given.pop_back();
  EXPECT_EQ(refusal(given),
            "diecast: invalid_argument: 7 arguments given; the kernel takes 8\n"
            "  fix: give these in order: x, codes, amax, rows, cols, groups, eps, table");
}

TEST_F(ArgumentCheckTest, KindsAreChecked) {
  EXPECT_EQ(with(0, Argument::size(1)),
            "diecast: invalid_argument: `x` is given as a size; the kernel takes a tensor\n"
            "  fix: pass KernelArgument::tensor");
  EXPECT_EQ(with(3, Argument::scalar(std::int64_t{7})),
            "diecast: invalid_argument: `rows` is given as a scalar; the kernel takes a size\n"
            "  fix: pass KernelArgument::size");
  EXPECT_EQ(with(6, Argument::bytes(table_, 4)),
            "diecast: invalid_argument: `eps` is given as a structure's bytes; the kernel takes a "
            "scalar\n"
            "  fix: pass KernelArgument::scalar");
}

TEST_F(ArgumentCheckTest, TypesAreChecked) {
  EXPECT_EQ(with(0, Argument::tensor(DType::f32, address(0x1000))),
            "diecast: dtype_mismatch: `x` is f32; the kernel takes bf16\n"
            "  fix: pass x as bf16, or specialize with IN=f32");
  EXPECT_EQ(with(0, Argument::tensor(DType::f16, address(0x1000))),
            "diecast: dtype_mismatch: `x` is f16; the kernel takes bf16\n"
            "  fix: pass x as bf16");
  EXPECT_EQ(with(2, Argument::tensor(DType::bf16, address(0x3000))),
            "diecast: dtype_mismatch: `amax` is bf16; the kernel takes f32\n"
            "  fix: pass amax as f32");
  EXPECT_EQ(with(6, Argument::scalar(std::int32_t{1})),
            "diecast: dtype_mismatch: `eps` is i32; the kernel takes f32\n"
            "  fix: pass eps as f32");
}

TEST_F(ArgumentCheckTest, NullIsForEmptyTensorsOnly) {
  const Argument null = Argument::tensor(DType::bf16, nullptr);
  EXPECT_EQ(with(0, null),
            "diecast: missing_buffer: `x` is null\n"
            "  fix: pass device memory for x; only a tensor without elements may be null");
  auto given = arguments();
  given[0] = null;
  given[3] = Argument::size(0);
  EXPECT_EQ(refusal(given), "");
  EXPECT_EQ(parameter<std::int64_t>(1), 64);  // the stride is a stride all the same
  given[3] = Argument::device_size(static_cast<std::int64_t*>(address(0x4008)), 0);
  EXPECT_EQ(refusal(given), "");
  given[3] = Argument::size(7);
  given[4] = Argument::size(0);
  EXPECT_EQ(refusal(given), "");
  given[2] = Argument::tensor(DType::f32, nullptr);  // [1] is never empty
  EXPECT_EQ(refusal(given),
            "diecast: missing_buffer: `amax` is null\n"
            "  fix: pass device memory for amax; only a tensor without elements may be null");
}

TEST_F(ArgumentCheckTest, AddressesAreChecked) {
  EXPECT_EQ(with(0, Argument::tensor(DType::bf16, address(0x1008))),
            "diecast: misaligned: `x` starts 8 bytes past a multiple of 16\n"
            "  fix: start it at a multiple of 16 bytes");
  EXPECT_EQ(with(2, Argument::tensor(DType::f32, address(0x3002))),
            "diecast: misaligned: `amax` starts 2 bytes past a multiple of 4\n"
            "  fix: start it at a multiple of 4 bytes");
  auto given = arguments();
  given[0].data = address(0x1008);
  given[3] = Argument::size(0);
  EXPECT_EQ(refusal(given), "");  // nothing is read
}

TEST_F(ArgumentCheckTest, RowStridesAreChecked) {
  EXPECT_EQ(with(0, Argument::tensor(DType::bf16, address(0x1000), 72)), "");
  EXPECT_EQ(with(0, Argument::tensor(DType::bf16, address(0x1000), 68)),
            "diecast: misaligned: `x` has rows 68 elements of 2 bytes apart, no multiple of 16 "
            "bytes\n"
            "  fix: make the row stride a multiple of 8 elements");
  EXPECT_EQ(with(0, Argument::tensor(DType::bf16, address(0x1000), 56)),
            "diecast: shape_mismatch: `x` has rows of 64 elements, but only 56 apart\n"
            "  fix: give a row stride of at least 64 elements");
  EXPECT_EQ(with(0, Argument::tensor(DType::bf16, address(0x1000), -64)),
            "diecast: invalid_argument: `x` has a row stride of -64\n"
            "  fix: a row stride is a number of elements, or 0 for dense rows");
  EXPECT_EQ(with(1, Argument::tensor(DType::u8, address(0x2000), 32)), "");
  EXPECT_EQ(with(1, Argument::tensor(DType::u8, address(0x2000), 40)),
            "diecast: shape_mismatch: `codes` has rows 40 elements apart; the kernel takes dense "
            "rows of 32\n"
            "  fix: give codes dense rows");
}

TEST_F(ArgumentCheckTest, DenseRowsMustKeepTheAlignmentToo) {
  EXPECT_EQ(with(4, Argument::size(60)),
            "diecast: misaligned: `x` has rows 60 elements of 2 bytes apart, no multiple of 16 "
            "bytes\n"
            "  fix: make the row stride a multiple of 8 elements");
}

TEST_F(ArgumentCheckTest, DistanceOfASingleRowDoesNotMatter) {
  auto given = arguments();
  given[3] = Argument::size(1);
  given[0] = Argument::tensor(DType::bf16, address(0x1000), 3);
  given[1] = Argument::tensor(DType::u8, address(0x2000), 1);
  EXPECT_EQ(refusal(given), "");
  given[0].number = -1;
  EXPECT_NE(refusal(given), "");
}

TEST_F(ArgumentCheckTest, VectorsHaveNoRows) {
  EXPECT_EQ(with(2, Argument::tensor(DType::f32, address(0x3000), 5)), "");
}

TEST_F(ArgumentCheckTest, SizesAreChecked) {
  EXPECT_EQ(with(3, Argument::size(-1)),
            "diecast: invalid_argument: `rows` is -1\n  fix: a size is 0 or more");
  EXPECT_EQ(with(5, Argument::device_size(static_cast<std::int64_t*>(address(0x4000)), 9)),
            "diecast: not_supported: `groups` is in device memory\n"
            "  fix: give groups as a host number, or say `size groups device` in the template's "
            "header");
  EXPECT_EQ(with(3, Argument::device_size(nullptr, 9)),
            "diecast: missing_buffer: `rows` is a device size without an address\n"
            "  fix: pass the device address of an int64");
  EXPECT_EQ(with(3, Argument::device_size(static_cast<std::int64_t*>(address(0x4004)), 9)),
            "diecast: misaligned: `rows` is not at a multiple of 8 bytes\n"
            "  fix: put the int64 at an address that is a multiple of 8");
}

TEST_F(ArgumentCheckTest, StructuresAreChecked) {
  EXPECT_EQ(with(7, Argument::bytes(nullptr, 24)),
            "diecast: missing_buffer: `table` is null\n"
            "  fix: pass the host address of its 24 bytes");
  EXPECT_EQ(with(7, Argument::bytes(table_, 16)),
            "diecast: shape_mismatch: `table` has 16 bytes; the kernel takes 24\n"
            "  fix: pass the structure that the template's header names");
}

TEST_F(ArgumentCheckTest, RowsBeyondSixtyFourBitsAreRefused) {
  const auto check = testing::specialize("k",
                                         "/* diecast\nsize n\narg x in f32 [2, n * n]\narg n\n"
                                         "launch grid(1) block(1)\ntarget sm_80+\n*/\n"
                                         "DIECAST_KERNEL {}\n");
  const auto slots = LaunchSlots::make(check).value();
  const std::vector<Argument> given = {Argument::tensor(DType::f32, address(0x1000)),
                                       Argument::size(std::int64_t{1} << 40)};
  const auto packed = ArgumentCheck::make(check, slots)->pack(given, values_, packed_);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().message(),
            "diecast: shape_mismatch: k @ sm_90a: `x` has a row length beyond 64 bits\n"
            "  fix: pass smaller sizes");
}

TEST_F(ArgumentCheckTest, TooManyParametersAreRefused) {
  std::string text = "/* diecast\n";
  for (int i = 0; i < 65; ++i) text += "arg a" + std::to_string(i) + " f32\n";
  text += "launch grid(1) block(1)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n";
  const auto many = testing::specialize("k", text);
  const auto check = ArgumentCheck::make(many, LaunchSlots::make(many).value());
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message(),
            "diecast: not_supported: k has 65 kernel parameters\n"
            "  fix: a kernel may have 64 of them; put some into a struct argument");
}

class FixedSize : public ArgumentCheckTest {
 protected:
  FixedSize() : ArgumentCheckTest(Bindings().set("COLS", 64)) {}
};

TEST_F(FixedSize, IsNoParameterButIsCheckedEqual) {
  ASSERT_TRUE(pack(arguments()));
  EXPECT_EQ(check_.parameter_bytes(), (std::vector<std::size_t>{8, 8, 8, 8, 16, 8, 4, 24}));
  EXPECT_EQ(parameter<std::int64_t>(5), 3);
  EXPECT_EQ(with(4, Argument::size(65)),
            "diecast: shape_mismatch: k COLS=64 IN=bf16 @ sm_90a: `cols` is 65, but was fixed at "
            "compile time as 64\n"
            "  fix: give 64, or specialize with COLS=65, or with 0 for any");
  EXPECT_EQ(with(4, Argument::device_size(static_cast<std::int64_t*>(address(0x4000)), 64)),
            "diecast: not_supported: k COLS=64 IN=bf16 @ sm_90a: `cols` is in device memory, but "
            "was fixed at compile time as 64\n"
            "  fix: give cols as a host number");
}

}  // namespace
}  // namespace diecast
