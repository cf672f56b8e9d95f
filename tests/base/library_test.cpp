// Opening libraries from files and from memory, with libfake_answer.so as the library.
#include <diecast/base/build_id.h>
#include <diecast/base/library.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "child_process.h"
#include "few_descriptors.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::open_descriptors;

const std::string kAnswer = DIECAST_FAKE_DIR "/libfake_answer.so";
constexpr char kBuildId[] = "a363b8d13575101a0226e8d0d054f2e7";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/diecast_library_test_" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

int call(const Library& library, const char* name) { return library.function<int()>(name)(); }

TEST(Library, OpenedByPathGivesItsFunctions) {
  const Library library = Library::open(kAnswer).value();
  EXPECT_EQ(call(library, "answer"), 42);
  EXPECT_EQ(library.symbol("question"), nullptr);
}

TEST(Library, OpenedBySonameIsFoundByTheLoader) {
  const Library library = Library::open("libc.so.6").value();
  EXPECT_NE(library.symbol("getpid"), nullptr);
  EXPECT_TRUE(std::filesystem::path(library.path()).is_absolute()) << library.path();
}

TEST(Library, KnowsTheFileBehindALink) {
  const std::string link = ::testing::TempDir() + "/diecast_library_test_link.so";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(kAnswer, link);
  EXPECT_EQ(Library::open(link).value().path(), std::filesystem::canonical(kAnswer));
  std::filesystem::remove(link);
}

TEST(Library, ThatDoesNotExistIsAnErrorWithTheLoadersText) {
  const auto library = Library::open("/nowhere/libx.so");
  ASSERT_FALSE(library);
  EXPECT_EQ(
      library.error().message(),
      "diecast: file_not_found: cannot open the library \"/nowhere/libx.so\": "
      "cannot open shared object file: No such file or directory\n"
      "  fix: give the path of a shared library built for this machine, or name its folder in "
      "LD_LIBRARY_PATH");
}

TEST(Library, IsNotOpenedByAPathThatIsNone) {
  for (const std::string& path : {std::string(), std::string("libc.so.6\0x", 11)}) {
    const auto library = Library::open(path);
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Library, AlreadyLoadedIsFoundAndNothingElseIsLoaded) {
  EXPECT_TRUE(Library::already_loaded("libc.so.6").ok());
  EXPECT_FALSE(Library::already_loaded(kAnswer).ok());
  const auto library = Library::open(kAnswer);
  EXPECT_TRUE(Library::already_loaded(kAnswer).ok());
}

TEST(Library, IsUnloadedWithItsLastCopy) {
  {
    Library copy = Library::open(kAnswer).value();
    EXPECT_EQ(call(copy, "count_calls"), 1);
    copy = Library::open(kAnswer).value();
    EXPECT_EQ(call(copy, "count_calls"), 2);  // one library, one state
  }
  EXPECT_FALSE(Library::already_loaded(kAnswer).ok());
}

TEST(Library, FromMemoryNeedsNoFile) {
  const std::string bytes = read(kAnswer);
  const Library library = Library::open_bytes(as_bytes(bytes), "answer").value();
  EXPECT_EQ(call(library, "answer"), 42);
  EXPECT_EQ(library.path(), "");
}

TEST(Library, FromMemoryIsItsOwnHoweverOftenItIsOpened) {
  // The loader knows libraries by path, and descriptor numbers are used again.
  const std::string bytes = read(kAnswer);
  std::vector<Library> libraries;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    libraries.push_back(Library::open_bytes(as_bytes(bytes), "answer").value());
    EXPECT_EQ(call(libraries.back(), "count_calls"), 1) << i;
  }
  // Code with line info keeps its file for debuggers.
  const std::size_t kept = bytes.find(".debug_line") != std::string::npos ? libraries.size() : 0;
  EXPECT_EQ(open_descriptors(), before + kept);
  libraries.clear();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Library, FromMemoryThatIsNoLibraryIsAnError) {
  const std::string half = read(kAnswer).substr(0, 1000);
  for (const std::string& bytes : {std::string("not a library"), std::string(), half}) {
    const auto library = Library::open_bytes(as_bytes(bytes), "some kernel");
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::file_corrupt);
    EXPECT_EQ(library.error().message(),
              "diecast: file_corrupt: cannot load \"some kernel\": not a whole shared library\n"
              "  fix: compile it again for this machine");
  }
}

TEST(Library, FromMemoryThatTheLoaderRejectsIsAnErrorWithItsText) {
  std::string bytes = read(kAnswer);
  bytes[18] = 8;  // e_machine: MIPS
  bytes[19] = 0;
  const auto library = Library::open_bytes(as_bytes(bytes), "answer");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::file_corrupt);
  EXPECT_NE(library.error().what.find("cannot open shared object file"), std::string::npos)
      << library.error().what;
}

// The loader's words, which the library is not at fault for.
TEST(Library, WithoutADescriptorLeftIsAnErrorThatNamesTheLimit) {
  const std::string bytes = read(kAnswer);
  const auto says_so = [](const Result<Library>& library) {
    return !library && library.error().code == ErrorCode::io_error &&
           library.error().what.find("Too many open files") != std::string::npos &&
           library.error().fix == "raise the limit of open files (`ulimit -n`)";
  };
  for (const int left : {0, 1}) {  // none for the anonymous file, none to map it
    EXPECT_EQ(testing::in_child([&] {
                if (!testing::leave_descriptors(left)) return 2;
                return says_so(Library::open_bytes(as_bytes(bytes), "answer")) ? 0 : 1;
              }),
              0)
        << left;
  }
  EXPECT_EQ(testing::in_child([&] {
              if (!testing::leave_descriptors(0)) return 2;
              return says_so(Library::open(kAnswer)) ? 0 : 1;
            }),
            0);
}

// Of copies, which no other test has loaded.
// What a program meets that opens everything anew in each call: nothing is wrong with the library.
TEST(Library, WithoutAMappingLeftIsAnErrorThatNamesTheLimit) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "a sanitizer needs mappings of its own";
#endif
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most == 0 || most > 1'000'000) GTEST_SKIP() << "the system allows " << most << " mappings";
  const std::string bytes = read(kAnswer);
  for (const std::size_t left : {0, 2, 4}) {
    EXPECT_EQ(testing::in_child([&] {
                std::vector<void*> pages;
                pages.reserve(most);
                for (;;) {  // side by side they would become one
                  const int protection = pages.size() % 2 == 0 ? PROT_READ : PROT_NONE;
                  void* const page =
                      ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  if (page == MAP_FAILED) break;
                  pages.push_back(page);
                }
                for (std::size_t i = 0; i < left; ++i) ::munmap(pages[2 * i], 4096);
                const auto opened = Library::open_bytes(as_bytes(bytes), "answer");
                if (opened) return 2;
                const bool says =
                    opened.error().code == ErrorCode::out_of_memory &&
                    opened.error().what.find(" mappings of memory") != std::string::npos;
                return says ? 0 : 1;
              }),
              0)
        << left;
  }
}

TEST(Library, StaysLoadedOnceItIsKept) {
  const testing::TemporaryDirectory folder;
  const std::string kept = folder / "kept.so", other = folder / "other.so";
  for (const std::string& copy : {kept, other}) std::filesystem::copy_file(kAnswer, copy);
  Library::open(kept).value().keep_loaded();
  (void)Library::open(other).value();
  EXPECT_TRUE(Library::already_loaded(kept));
  EXPECT_FALSE(Library::already_loaded(other));
}

TEST(BuildId, OfALoadedLibraryIsTheOneItWasLinkedWith) {
  EXPECT_EQ(Library::open(kAnswer).value().build_id(), kBuildId);
  const std::string bytes = read(kAnswer);
  EXPECT_EQ(Library::open_bytes(as_bytes(bytes), "answer").value().build_id(), kBuildId);
}

TEST(BuildId, OfAFileNeedsNoLoading) {
  EXPECT_EQ(build_id_of_file(kAnswer), kBuildId);
  EXPECT_FALSE(Library::already_loaded(kAnswer).ok());
}

TEST(BuildId, OfWhatHasNoneIsEmpty) {
  EXPECT_EQ(build_id_of_file("/nowhere/libx.so"), "");
  EXPECT_EQ(build_id_of_file(::testing::TempDir()), "");
  EXPECT_EQ(build_id_of_file(written("text",
                                     "plain text, longer than an ELF header would be, "
                                     "and yet without any of its fields")),
            "");
}

TEST(BuildId, OfADamagedFileIsReadWithinItsBounds) {
  const std::string whole = read(kAnswer);
  for (std::size_t position = 0; position < 1024; ++position) {
    std::string damaged = whole;
    damaged[position] = static_cast<char>(0xff);
    const std::string id = build_id_of_file(written("damaged", damaged));
    EXPECT_TRUE(id.empty() || id.size() <= 1 << 20) << position;
  }
  for (std::size_t size = 0; size < 1024; size += 13)
    build_id_of_file(written("short", whole.substr(0, size)));
}

}  // namespace
}  // namespace diecast
