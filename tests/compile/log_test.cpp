// Cleaning logs and reading what ptxas says of a kernel.
#include <diecast/compile/log.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

constexpr char kReport[] =
    "ptxas info    : 324 bytes gmem\n"
    "ptxas info    : Compiling entry function 'other' for 'sm_80'\n"
    "ptxas info    : Function properties for other\n"
    "ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 0 barriers, 360 bytes cmem[0]\n"
    "ptxas info    : Compile time = 1.387 ms\n"
    "quantize.cu(3): warning #177-D: variable \"u\" was declared but never referenced\n"
    "ptxas info    : Compiling entry function 'quantize' for 'sm_80'\n"
    "ptxas info    : Function properties for quantize\n"
    "ptxas         .     1088 bytes stack frame, 1032 bytes spill stores, 1096 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 1088 bytes cumulative stack size, 256 "
    "bytes smem, 364 bytes cmem[0]\n"
    "ptxas info    : Function properties for _Z1fi\n"
    "ptxas         .     8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n";

TEST(PtxasReport, IsReadForItsKernelAndTheFunctionsItCalls) {
  const PtxasReport report = read_ptxas_report(kReport, "quantize");
  EXPECT_EQ(report.registers, 32);
  EXPECT_EQ(report.spill_bytes, 1032 + 1096 + 1 + 2);
  EXPECT_EQ(report.stack_bytes, 1088);
  EXPECT_EQ(report.static_shared_bytes, 256);
  const PtxasReport other = read_ptxas_report(kReport, "other");
  EXPECT_EQ(other.registers, 255);
  EXPECT_EQ(other.spill_bytes, 12);
  EXPECT_EQ(other.stack_bytes, 16);
  EXPECT_EQ(other.static_shared_bytes, 0);
}

TEST(PtxasReport, OfAKernelThatIsNotThereIsEmpty) {
  EXPECT_EQ(read_ptxas_report(kReport, "quant").registers, 0);
  EXPECT_EQ(read_ptxas_report("", "quantize").registers, 0);
  EXPECT_EQ(read_ptxas_report("ptxas info    : Used  registers", "").registers, 0);
}

TEST(PtxasReport, DoesNotBelieveANumberBeyondAnInt) {
  constexpr char text[] =
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Used 99999999999999999999 registers";
  EXPECT_EQ(read_ptxas_report(text, "k").registers, 0);
}

TEST(Log, WithoutTheReportHasTheWarningsOnly) {
  EXPECT_EQ(clean_log(without_ptxas_report(kReport)),
            "quantize.cu(3): warning #177-D: variable \"u\" was declared but never referenced");
}

TEST(Log, HasOneNameForTheFilesThatACompilersPartsHandOn) {
  EXPECT_EQ(without_drawn_names("/usr/bin/ld: /tmp/d/cc4k.o: warning: x\n/tmp/d/cc1.s:4: Error: y\n"
                                "/tmp/d: /tmp/d/rendered-58483a",
                                "/tmp/d"),
            "/usr/bin/ld: kernel.o: warning: x\nkernel.s:4: Error: y\nkernel: kernel");
  EXPECT_EQ(without_drawn_names("k.cu:1:2: warning: z", "/tmp/d"), "k.cu:1:2: warning: z");
}

TEST(Log, IsSafeToPrint) {
  EXPECT_EQ(clean_log("  a\tb\r\nc\x1b[31m\x07 d\x7f\n"), "a\tb\nc\\x1b[31m\\x07 d\\x7f");
  EXPECT_EQ(clean_log("\xe2\x80\x98"
                      "x\xe2\x80\x99 \xff\xc3"),
            "\xe2\x80\x98"
            "x\xe2\x80\x99 \\xff\\xc3");
  EXPECT_EQ(clean_log("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // a control character in two bytes
  EXPECT_EQ(clean_log("\xe0\x80\x80 \xed\xa0\x80 \xf4\x90\x80\x80"),  // overlong, surrogate, beyond
            "\\xe0\\x80\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
  EXPECT_EQ(clean_log(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Log, IsCutAndSaysSo) {
  EXPECT_EQ(clean_log("abcdef", 4), "abcd\n[2 more bytes of the log are left out]");
  EXPECT_EQ(clean_log("abcd", 4), "abcd");
  EXPECT_LT(clean_log(std::string(1 << 20, 'x')).size(), kLogLimit + 100);
}

TEST(Log, GivesTheFirstErrorsLineOfAFile) {
  EXPECT_EQ(first_error_line("q.cu(7): warning: w\nq.cu(12): error: e\nq.cu(13): error: e", "q.cu"),
            12);
  EXPECT_EQ(first_error_line("q.cu: In function\nq.cu:20:7: error: e", "q.cu"), 20);
  EXPECT_EQ(first_error_line("types.h(3): error: e", "q.cu"), 0);
  EXPECT_EQ(first_error_line("block.h:4:2: error: e\nq.cu:8:1: note: in expansion of macro 'm'\n"
                             "q.cu:9:1: error: e",
                             "q.cu"),
            8);
  EXPECT_EQ(first_error_line("block.h:4:2: warning: w\nq.cu:8:1: note: in expansion of macro 'm'\n"
                             "q.cu:9:1: error: e",
                             "q.cu"),
            9);
  EXPECT_EQ(first_error_line("block.h:4:2: error: e\nq.cu:8:1: note: in instantiation of f<int>\n"
                             "q.cu:9:1: error: e",
                             "q.cu"),
            8);
  EXPECT_EQ(first_error_line("block.h: In instantiation of f\nq.cu:8:1:   required from here\n"
                             "block.h:4:2: error: e\nq.cu:9:1: error: e",
                             "q.cu"),
            8);
  EXPECT_EQ(first_error_line("q.cu:8:1:   required from here\nblock.h:4:2: warning: w\n"
                             "block.h:5:2: error: e",
                             "q.cu"),
            0);
  EXPECT_EQ(first_error_line("q.cu(99999999999): error: e", "q.cu"), 0);
  EXPECT_EQ(first_error_line("q.cu(", "q.cu"), 0);
}

}  // namespace
}  // namespace diecast
