// What check_cubin and check_shared_object believe: whole files, cut files, damaged files.
#include <diecast/compile/artifact.h>
#include <diecast/compile/elf.h>
#include <gtest/gtest.h>

#include <random>

#include "compile/guarded_bytes.h"
#include "fake/cubin.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeCubin;
using testing::GuardedBytes;

const Target kSm90a{Target::Kind::cuda, 90, 'a', 1};
const std::string kObjectFile = DIECAST_FAKE_DIR "/libfake_answer.so";

std::string cubin(const std::string& symbol = "quantize", int cc = 90, bool cuda13 = true) {
  FakeCubin fake;
  fake.symbols = {symbol};
  fake.cc = cc;
  fake.cuda13 = cuda13;
  return fake.bytes();
}

std::string fault_of(const std::string& bytes, const Target& target, std::string_view symbol) {
  const auto checked = check_cubin(as_bytes(bytes), target, symbol);
  return checked ? "none" : checked.error().what;
}

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Elf64_Ehdr header_of(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

TEST(CheckCubin, TakesTheHeadersOfCuda12AndOf13) {
  EXPECT_EQ(fault_of(cubin("quantize", 90, true), kSm90a, "quantize"), "none");
  EXPECT_EQ(fault_of(cubin("quantize", 90, false), kSm90a, "quantize"), "none");
}

TEST(ElfFile, CountsTheBytesOfSectionsThatAreExecuted) {
  std::string bytes = cubin();
  EXPECT_EQ(Elf::parse(as_bytes(bytes)).value().executable_bytes(), 0u);
  const std::size_t code = header_of(bytes).e_shoff + 3 * sizeof(Elf64_Shdr);
  put<std::uint64_t>(bytes, code + offsetof(Elf64_Shdr, sh_flags), SHF_ALLOC | SHF_EXECINSTR);
  EXPECT_EQ(Elf::parse(as_bytes(bytes)).value().executable_bytes(), 256u);
}

TEST(CheckCubin, TakesEveryTargetOfAnArchitectureForItsOwn) {
  const std::string bytes = cubin("k", 100);
  for (const char suffix : {'a', 'f'})
    EXPECT_TRUE(check_cubin(as_bytes(bytes), {Target::Kind::cuda, 100, suffix, 1}, "k"));
}

TEST(CheckCubin, NamesTheArchitectureItWasNotAskedFor) {
  EXPECT_EQ(fault_of(cubin("k", 100), kSm90a, "k"),
            "not the machine code expected: built for sm_100, not for sm_90a");
  EXPECT_EQ(fault_of(cubin("k", 80, false), kSm90a, "k"),
            "not the machine code expected: built for sm_80, not for sm_90a");
  EXPECT_EQ(fault_of(cubin("k", 0), Target{}, "k"),
            "not the machine code expected: built for sm_0, not for host");
}

TEST(CheckCubin, WantsTheKernelAmongTheSymbols) {
  EXPECT_EQ(fault_of(cubin("quantize"), kSm90a, "quantise"),
            "not the machine code expected: no function \"quantise\" among its symbols");
  EXPECT_NE(fault_of(cubin("quantize"), kSm90a, ""), "none");
  EXPECT_NE(fault_of(cubin("quantize"), kSm90a, "quantiz"), "none");
}

TEST(CheckCubin, SaysWhatToDo) {
  const auto checked = check_cubin(as_bytes(std::string_view("short")), kSm90a, "k");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message(),
            "diecast: file_corrupt: not the machine code expected: 5 bytes are too few for an ELF "
            "header\n  fix: delete the file it came from; it will be compiled again");
}

TEST(CheckCubin, RefusesAnotherKindOfFile) {
  std::string bytes = cubin();
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
  EXPECT_EQ(fault_of(bytes, kSm90a, "quantize"),
            "not the machine code expected: ELF machine 62 is not CUDA's (190)");
  bytes = cubin();
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_type), ET_REL);
  EXPECT_EQ(fault_of(bytes, kSm90a, "quantize"),
            "not the machine code expected: ELF type 1 is not an executable cubin's (2)");
  bytes = cubin();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(fault_of(bytes, kSm90a, "quantize"),
            "not the machine code expected: not a 64-bit ELF file");
  EXPECT_EQ(fault_of(std::string(4096, 'x'), kSm90a, "quantize"),
            "not the machine code expected: no ELF magic number");
}

TEST(CheckCubin, RefusesSumsThatWrapAround) {
  std::string bytes = cubin();
  put<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0} - 63);
  EXPECT_NE(fault_of(bytes, kSm90a, "quantize").find("section table at 18446744073709551552"),
            std::string::npos);
  bytes = cubin();
  const std::size_t symbols = header_of(bytes).e_shoff + 2 * sizeof(Elf64_Shdr);
  put<std::uint64_t>(bytes, symbols + offsetof(Elf64_Shdr, sh_size), ~std::uint64_t{0});
  EXPECT_NE(fault_of(bytes, kSm90a, "quantize").find("section 2 (18446744073709551615 bytes at"),
            std::string::npos);
}

TEST(CheckCubin, ChecksSegmentsToo) {
  std::string bytes = cubin();
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_phnum), 1);
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr));
  put<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_phoff), bytes.size());
  EXPECT_NE(fault_of(bytes, kSm90a, "quantize").find("segment table at"), std::string::npos);
  Elf64_Phdr segment{};
  segment.p_filesz = bytes.size() + sizeof segment + 1;
  bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  EXPECT_NE(fault_of(bytes, kSm90a, "quantize").find("segment 0 ("), std::string::npos);
}

TEST(CheckCubin, RefusesEveryCutFile) {
  const std::string bytes = cubin();
  GuardedBytes memory(bytes.size());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const ByteSpan cut = memory.place(std::string_view(bytes).substr(0, size));
    const auto checked = check_cubin(cut, kSm90a, "quantize");
    ASSERT_FALSE(checked) << size;
    ASSERT_EQ(checked.error().code, ErrorCode::file_corrupt) << size;
  }
}

TEST(CheckCubin, SurvivesEveryByteOfItsTablesDamaged) {
  const std::string bytes = cubin();
  GuardedBytes memory(bytes.size());
  const std::size_t tables = header_of(bytes).e_shoff;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at >= sizeof(Elf64_Ehdr) && at < tables) continue;
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      refused += !check_cubin(memory.place(damaged), kSm90a, "quantize").ok();
    }
  }
  EXPECT_GT(refused, 200u);
}

// Several bytes at once, anywhere, with values that make large and small numbers. What is still
// taken must have kept what was checked.
TEST(CheckCubin, SurvivesRandomDamage) {
  const std::string bytes = cubin();
  GuardedBytes memory(bytes.size());
  std::mt19937 random(20250607);
  std::size_t taken = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string damaged = bytes;
    for (unsigned i = 0, edits = 1 + random() % 6; i < edits; ++i) {
      const bool tables = random() % 2;
      const std::size_t first = tables ? header_of(bytes).e_shoff : 0;
      damaged[first + random() % (damaged.size() - first)] =
          static_cast<char>(random() % 3 ? random() : 0xff);
    }
    if (!check_cubin(memory.place(damaged), kSm90a, "quantize")) continue;
    ++taken;
    ASSERT_EQ(header_of(damaged).e_machine, 190);
    ASSERT_NE(damaged.find("quantize"), std::string::npos);
  }
  EXPECT_GT(taken, 1000u);  // damage to the code alone is the checksums' matter
  EXPECT_LT(taken, 90000u);
}

TEST(CheckSharedObject, WantsAFunctionThatCanBeFound) {
  const std::string bytes = testing::text_of(kObjectFile);
  EXPECT_TRUE(check_shared_object(as_bytes(bytes), "answer"));
  const auto checked = check_shared_object(as_bytes(bytes), "question");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what,
            "not the machine code expected: no function \"question\" among its symbols");
}

TEST(CheckSharedObject, RefusesTheCodeOfAnotherMachine) {
  std::string bytes = testing::text_of(kObjectFile);
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine), EM_S390);
  EXPECT_NE(check_shared_object(as_bytes(bytes), "answer").error().what.find("ELF machine 22 is"),
            std::string::npos);
  bytes = testing::text_of(kObjectFile);
  put<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_type), ET_REL);
  EXPECT_EQ(check_shared_object(as_bytes(bytes), "answer").error().what,
            "not the machine code expected: ELF type 1 is not a shared object's (3)");
}

TEST(CheckSharedObject, RefusesEveryCutFile) {
  const std::string bytes = testing::text_of(kObjectFile);
  GuardedBytes memory(bytes.size());
  for (std::size_t size = 0; size < bytes.size(); size += size < 8192 ? 1 : 7)
    ASSERT_FALSE(
        check_shared_object(memory.place(std::string_view(bytes).substr(0, size)), "answer"))
        << size;
}

}  // namespace
}  // namespace diecast
