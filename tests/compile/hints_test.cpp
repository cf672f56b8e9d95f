// What a rejected source's fix says of habits of CUDA, by logs of g++ 12, clang 14 and NVRTC 13.
#include <diecast/base/text.h>
#include <diecast/compile/hints.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace diecast {
namespace {

const Target kHost, kGpu{Target::Kind::cuda, 90, 'a', 1};

std::string hint(const Target& target, std::string_view log) {
  return hint_of(BuildKind::plain, target, log);
}

constexpr const char* kStored =
    ": nothing converts or computes with bf16, f16 and 8-bit floats by itself: write to_f32(x), "
    "and "
    "from_f32<T>(x) of a float";

TEST(Hints, TellHowElementTypesThatAreStoredConvert) {
  for (
      const char* log :
      {"k.cu:16:10: error: invalid cast from type 'const T' {aka 'const diecast::bf16'} to type "
       "'float'",
       "k.cu:16:10: error: invalid 'static_cast' from type 'const T' {aka 'const diecast::f16'} to "
       "type 'float'",
       "k.cu:16:15: error: no match for 'operator*' (operand types are 'const T' {aka 'const "
       "diecast::bf16'} and 'const T' {aka 'const diecast::bf16'})",
       "k.cu:16:18: error: cannot convert 'const T' {aka 'const diecast::e4m3'} to 'float'",
       "k.cu:16:10: error: cannot convert 'const T' (aka 'const diecast::bf16') to 'float' without "
       "a conversion operator",
       "k.cu:16:10: error: invalid argument type 'const T' (aka 'const diecast::bf16') to unary "
       "expression",
       "k.cu:16:10: error: assigning to 'diecast::f32' (aka 'float') from incompatible type 'const "
       "T' (aka 'const diecast::bf16')",
       "k.cu:16:8: error: no viable overloaded '='\n"
       "types.h:81:8: note: candidate function not viable: no known conversion from 'const "
       "diecast::f32' (aka 'const float') to 'const diecast::bf16' for 1st argument"})
    EXPECT_EQ(hint(kHost, log), kStored) << log;
  for (const char* log :
       {"k.cu(16): error: no suitable conversion function from \"const T\" to \"float\" exists",
        "k.cu(16): error: no operator \"*\" matches these operands\n"
        "            operand types are: const T * const T",
        "k.cu(16): error: no suitable constructor exists to convert from \"const diecast::f32\" to "
        "\"diecast::bf16\""})
    EXPECT_EQ(hint(kGpu, log), kStored) << log;
  EXPECT_EQ(hint(kHost,
                 "k.cu: In function 'void k_body(const diecast::bf16*)':\n"
                 "k.cu:16:12: error: expected ';' before '}' token"),
            "");
}

TEST(Hints, NameWhatDiecastHasForACudaName) {
  const std::string math =
      ": write math::exp of <diecast/device/math/math.h> for expf: the same bits on every target";
  EXPECT_EQ(hint(kHost, "k.cu:16:18: error: 'expf' was not declared in this scope"), math);
  EXPECT_EQ(hint(kHost, "k.cu:16:18: error: use of undeclared identifier 'expf'"), math);
  for (const char* name :
       {"__expf", "exp", "rsqrtf", "tanhf", "powf", "log2f", "__sinf", "floorf", "rintf"})
    EXPECT_NE(hint(kHost, std::string("k.cu:1:1: error: '") + name + "' was not declared in this")
                  .find(": write math::"),
              std::string::npos)
        << name;
  EXPECT_EQ(hint(kGpu, "k.cu(16): error: identifier \"__half2float\" is undefined"),
            ": write to_f32(x) for __half2float");
  EXPECT_EQ(hint(kHost, "k.cu:16:3: error: unknown type name '__nv_bfloat16'"),
            ": write the element type bf16 for __nv_bfloat16");
  EXPECT_EQ(hint(kHost, "k.cu:16:10: error: 'isnan' was not declared in this scope"),
            ": write x != x for isnan");
  EXPECT_EQ(hint(kHost, "k.cu:16:10: error: '__activemask' was not declared in this scope"),
            ": write the mask of the lanes that come here, 0xffffffff where all do, for "
            "__activemask");
  EXPECT_EQ(hint(kHost, "k.cu:16:10: error: 'atomicSub' was not declared in this scope"),
            ": write atomicAdd of the negative for atomicSub");
  EXPECT_EQ(hint(kHost, "k.cu:16:10: error: '__float2int_rn' was not declared in this scope"),
            ": write from_f32<i32>(x) of <diecast/device/numbers/every_type.h> for __float2int_rn");
}

TEST(Hints, NameWhatDiecastHasForPairsOfCuda) {
  for (const char* name : {"half2", "__half2", "nv_bfloat162", "__nv_bfloat162", "__half22float2",
                           "__bfloat1622float2", "__floats2half2_rn", "__floats2bfloat162_rn"}) {
    const std::string of =
        hint(kGpu, cat("k.cu(1): error: identifier \"", name, "\" is undefined"));
    EXPECT_TRUE(of.ends_with(cat(" of <diecast/device/numbers/x2.h> for ", name))) << of;
  }
}

TEST(Hints, SayWhereALargeArrayOfAThreadBlockLies) {
  EXPECT_EQ(hint(kGpu,
                 "ptxas error   : Entry function 'k' uses too much shared data (0x13880 bytes, "
                 "0xc000 max)"),
            ": larger arrays are dynamic shared memory: `launch shared(BYTES)` and "
            "dynamic_shared<T>()");
}

TEST(Hints, SayHowFloatsAreAddedOnTheHost) {
  EXPECT_EQ(hint(kHost,
                 "atomics.h:54:26: error: static assertion failed: atomicAdd is of integers "
                 "on the host: floats' sum would follow the blocks' order"),
            ": add the sums of thread blocks in their order, or leave the host out by `target "
            "sm_80+`");
}

TEST(Hints, NameTheHeaderOfWhatEveryKernelCalls) {
  const std::string convert = ": add #include <diecast/device/numbers/convert.h>";
  EXPECT_EQ(hint(kHost, "k.cu:1:1: error: 'to_f32' was not declared in this scope"), convert);
  EXPECT_EQ(hint(kGpu, "k.cu(1): error: identifier \"from_f32\" is undefined"), convert);
  EXPECT_EQ(hint(kHost, "k.cu:1:1: error: 'math' has not been declared"),
            ": add #include <diecast/device/math/math.h>");
}

TEST(Hints, NameTheDeviceHeaderThatDeclaresAName) {
  for (const auto& [name, header] : std::initializer_list<std::pair<const char*, const char*>>{
           {"block_sum", "threads/block_join.h"},
           {"RowWalk", "threads/row_walk.h"},
           {"warp_prefix_sum", "threads/prefix_sum.h"},
           {"grid_barrier", "threads/grid_barrier.h"},
           {"store_streaming", "memory/vector.h"},
           {"bf16x2", "numbers/x2.h"},
           {"quotient", "numbers/quotient.h"},
           {"ScaleLayout", "scales/scale_layout.h"}}) {
    const std::string wanted = cat(": if ", name,
                                   " is that of a device header, add #include "
                                   "<diecast/device/",
                                   header, ">");
    EXPECT_EQ(hint(kHost, cat("k.cu:1:1: error: '", name, "' was not declared in this scope")),
              wanted);
    EXPECT_EQ(hint(kGpu, cat("k.cu(1): error: identifier \"", name, "\" is undefined")), wanted);
  }
}

TEST(Hints, NameTheHeaderOfAFunctionThatMathLacks) {
  const std::string math = ": <diecast/device/math/math.h> has all functions of math";
  for (const char* log : {"k.cu:1:1: error: 'rsqrt' is not a member of 'diecast::math'",
                          "k.cu:1:1: error: no member named 'rsqrt' in namespace 'diecast::math'"})
    EXPECT_EQ(hint(kHost, log), math);
  EXPECT_EQ(hint(kGpu, "k.cu(1): error: namespace \"diecast::math\" has no member \"rsqrt\""),
            math);
}

TEST(Hints, SayOfWhichTypesTheSmallerOfTwoIs) {
  const std::string one =
      ": min and max take two numbers of one type, and a size is an i64: min(rows, i64{8})";
  for (const char* log :
       {"k.cu:1:1: error: call of overloaded 'min(diecast::i64&, int)' is ambiguous",
        "k.cu:1:1: error: call to 'max' is ambiguous"})
    EXPECT_EQ(hint(kHost, log), one);
  EXPECT_EQ(hint(kGpu,
                 "k.cu(1): error: more than one instance of overloaded function \"min\" "
                 "matches the argument list:"),
            one);
}

TEST(Hints, SayOfOtherNamesWhatTheHostHas) {
  const std::string log = "k.cu:16:10: error: 'nope' was not declared in this scope";
  EXPECT_EQ(hint(kHost, log),
            "; if the name is CUDA's: the host has the device words of templates/README.md alone, "
            "so `target sm_80+`, or another way under #if DIECAST_HOST");
  EXPECT_EQ(hint(kHost, "k.cu:1:1: error: use of undeclared identifier 'nope'"), hint(kHost, log));
  EXPECT_EQ(hint(kGpu, "k.cu(16): error: identifier \"nope\" is undefined"), "");
}

}  // namespace
}  // namespace diecast
