// The host's C++ compiler: what it makes runs, is the same from any place, and leaves nothing
// behind.
#include <diecast/base/library.h>
#include <diecast/base/machine.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/template/embedded.h>
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>

#include "child_process.h"
#include "environment_variable.h"
#include "few_descriptors.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::TemporaryDirectory;
using testing::Variable;

const Target kHost{Target::Kind::host, 0, 0, 1};
const Target kHostV3{Target::Kind::host, 0, 0, 3};

// A kernel that multiplies and adds: with a fused multiply-add its last bit would differ.
const Source kSource{"axpy.cu", "axpy", R"(#line 1 "axpy.cu"
struct HostBlock;
float scaled(float a, float x) { return a * x; }
extern "C" void axpy(HostBlock*, void** parameters) {
  float* y = *static_cast<float**>(parameters[0]);
  const float a = *static_cast<float*>(parameters[1]);
  for (int i = 0; i < 64; ++i) y[i] = scaled(a, y[i]) + y[63 - i];
}
)"};

std::shared_ptr<Compiler> open() {
  return open_host_cxx(HostCxxOptions::from_environment()).value();
}

void run(const Artifact& artifact, float a, float* values) {
  const Library library = Library::open_bytes(artifact.payload, artifact.symbol).value();
  void* parameters[] = {&values, &a};
  library.function<void(void*, void**)>("axpy")(nullptr, parameters);
}

TEST(HostCompiler, NamesItsKindVersionAndBuild) {
  const auto compiler = open();
  const std::vector<std::string_view> parts = split(compiler->identity(), '-');
  ASSERT_GE(parts.size(), 3u) << compiler->identity();  // a sanitizer adds one
  EXPECT_TRUE(parts[0] == "gxx" || parts[0] == "clangxx") << parts[0];
  EXPECT_EQ(parts[1].find_first_not_of("0123456789."), std::string::npos) << parts[1];
  EXPECT_EQ(parts[2].find_first_not_of("0123456789abcdef"), std::string::npos) << parts[2];
  EXPECT_EQ(parts[2].size(), 8u);
  EXPECT_NE(compiler->description().find(" (/"), std::string::npos) << compiler->description();
}

TEST(HostCompiler, IsTheSameByEveryNameOfTheProgram) {
  const std::string program = find_program("g++");
  if (program.empty()) GTEST_SKIP() << "no g++ on this machine";
  const TemporaryDirectory folder;
  std::filesystem::create_symlink(program, folder / "my-c++");
  EXPECT_EQ(open_host_cxx({folder / "my-c++", ""}).value()->identity(),
            open_host_cxx({"g++", ""}).value()->identity());
}

TEST(HostCompiler, OfASanitizerHasAnotherIdentity) {
  const std::string plain = open_host_cxx({"c++", ""}).value()->identity();
  EXPECT_EQ(open_host_cxx({"c++", "address,undefined"}).value()->identity(),
            plain + "-address.undefined");
}

TEST(HostCompiler, MakesAKernelThatRoundsEveryOperation) {
  for (const Target& target : {kHost, kHostV3}) {
    if (!open()->accepts(target)) continue;
    const Artifact artifact = open()->compile(kSource, target).value();
    EXPECT_EQ(artifact.kind, Artifact::Kind::shared_object);
    EXPECT_EQ(artifact.target, target);
    EXPECT_EQ(artifact.symbol, "axpy");
    EXPECT_EQ(artifact.compiler, open()->identity());
    EXPECT_EQ(artifact.log, "");
    if (target == kHostV3 && !has_avx2()) continue;
    float values[64], expected[64];
    for (int i = 0; i < 64; ++i) values[i] = expected[i] = 1.0f + static_cast<float>(i) / 7.0f;
    for (int i = 0; i < 64; ++i) {
      const volatile float product = 1.1f * expected[i];
      expected[i] = product + expected[63 - i];
    }
    run(artifact, 1.1f, values);
    EXPECT_EQ(std::memcmp(values, expected, sizeof values), 0);
  }
}

TEST(HostCompiler, ThatIsAClangWithoutAGccHasALibraryOfItsOwn) {
  const std::string clang = find_program("clang++");
  if (clang.empty()) GTEST_SKIP() << "no clang++ on this machine";
  const TemporaryDirectory folder;
  const std::string alone = folder / "clang++";
  testing::write_text(alone,
                      cat("#!/bin/sh\nexec ", clang, " --gcc-toolchain=/nonexistent \"$@\"\n"));
  std::filesystem::permissions(alone, std::filesystem::perms::owner_all);
  ProcessRequest request;
  request.arguments = {alone, "--rtlib=compiler-rt", "-print-libgcc-file-name"};
  if (!std::filesystem::exists(trim(run_process(request).value().output)))
    GTEST_SKIP() << "clang++ has no library of its own on this machine";
  Source source = kSource;
  source.text += "__int128 quotient(__int128 a, __int128 b) { return a / b; }\n";
  const auto artifact = open_host_cxx({alone, ""}).value()->compile(source, kHost);
  EXPECT_TRUE(artifact) << artifact.error().message();
}

TEST(HostCompiler, ExportsTheEntryAlone) {
  const Artifact artifact = open()->compile(kSource, kHost).value();
  const Library library = Library::open_bytes(artifact.payload, "axpy").value();
  EXPECT_NE(library.symbol("axpy"), nullptr);
  EXPECT_EQ(library.symbol("_Z6scaledff"), nullptr);
}

TEST(HostCompiler, MakesTheSameBytesFromEveryPlace) {
  const Bytes first = open()->compile(kSource, kHost).value().payload;
  const TemporaryDirectory folder;
  const std::string longer = folder / "a/longer/path/than/the/other/one";
  std::filesystem::create_directories(longer);
  testing::write_text(longer + "/axpy.cu", "#error this is not the file");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(longer);
  const Variable temporary("TMPDIR", longer), include("CPLUS_INCLUDE_PATH", longer),
      home("HOME", longer), language("LANG", "de_DE.UTF-8"), epoch("SOURCE_DATE_EPOCH", "1");
  const Bytes second = open()->compile(kSource, kHost).value().payload;
  std::filesystem::current_path(before);
  EXPECT_TRUE(first == second);
  const std::string text(reinterpret_cast<const char*>(first.data()), first.size());
  EXPECT_EQ(text.find("/tmp"), std::string::npos);
  EXPECT_EQ(text.find("diecast-"), std::string::npos);
}

TEST(HostCompiler, LeavesNothingBehind) {
  const TemporaryDirectory folder;
  const Variable temporary("TMPDIR", folder.path());
  EXPECT_TRUE(open()->compile(kSource, kHost));
  EXPECT_FALSE(open()->compile({"bad.cu", "bad", "no C++"}, kHost));
  EXPECT_EQ(testing::tree(folder.path()), std::vector<std::string>{});
}

TEST(HostCompiler, ShowsErrorsUnderTheSourcesOwnName) {
  const auto artifact = open()->compile(
      {"quantize.cu", "quantize", "#line 7 \"quantize.cu\"\nint f() { return scale; }\n"}, kHost);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().code, ErrorCode::compile_failed);
  EXPECT_EQ(artifact.error().what.find("quantize.cu for host: "), 0u) << artifact.error().what;
  EXPECT_NE(artifact.error().what.find("\nquantize.cu:7:"), std::string::npos);
  EXPECT_EQ(artifact.error().what.find("/tmp"), std::string::npos) << artifact.error().what;
  EXPECT_EQ(artifact.error().fix,
            "mend quantize.cu at line 7; if the name is CUDA's: the host has the device words of "
            "templates/README.md alone, so `target sm_80+`, or another way under #if DIECAST_HOST");
}

TEST(HostCompiler, ShowsErrorsBeforeTheFirstLineDirectiveWithoutAPath) {
  const auto artifact = open()->compile({"quantize.cu", "quantize", "int x = y;\n"}, kHost);
  EXPECT_NE(artifact.error().what.find("\nquantize.cu:1:"), std::string::npos)
      << artifact.error().what;
}

TEST(HostCompiler, KeepsWarnings) {
  Source source = kSource;
  source.text += "int number() { int unused; return 1; }\n";
  const Artifact artifact = open()->compile(source, kHost).value();
  EXPECT_NE(artifact.log.find("axpy.cu:8:"), std::string::npos) << artifact.log;
}

TEST(HostCompiler, KeepsTheSameWarningsOfALinkerEachTime) {
  const Source source{"k.cu", "k",
                      "__attribute__((used, section(\".gnu.warning\"))) const char w[] = \"old\";\n"
                      "extern \"C\" void k() {}\n"};
  const std::string log = open()->compile(source, kHost).value().log;
  EXPECT_NE(log.find("kernel.o: warning: old"), log.npos) << log;
  EXPECT_EQ(open()->compile(source, kHost).value().log, log);
}

TEST(HostCompiler, WantsTheKernelInTheObject) {
  Source source = kSource;
  source.symbol = "quantize";
  const auto artifact = open()->compile(source, kHost);
  ASSERT_FALSE(artifact);
  EXPECT_NE(artifact.error().what.find("no function \"quantize\" among its symbols"),
            std::string::npos);
  EXPECT_EQ(artifact.error().fix, "declare the kernel quantize in axpy.cu with DIECAST_KERNEL");
}

TEST(HostCompiler, ShowsNoLineOfAnotherNumbering) {
  const auto artifact = open()->compile(
      {"quantize.cu", "quantize", "int a;\n#line 1 \"quantize.cu\"\nint b = c;\n"}, kHost);
  EXPECT_EQ(artifact.error().what.find("int a"), std::string::npos) << artifact.error().what;
}

TEST(HostCompiler, TakesAnyTextForTheNameOfASource) {
  for (const char* name : {"../../escape.cu", "exports", "-o.so", "", "a\"\n#error b", "a\\"}) {
    Source source = kSource;
    source.name = name;
    EXPECT_TRUE(open()->compile(source, kHost)) << name;
  }
}

TEST(HostCompiler, BuildsForTheHostOnly) {
  EXPECT_EQ(open()->accepts({Target::Kind::cuda, 90, 'a', 1}).error().message(),
            "diecast: target_not_supported: the host's C++ compiler does not build for sm_90a\n"
            "  fix: use NVRTC");
  EXPECT_FALSE(open()->compile(kSource, {Target::Kind::cuda, 90, 'a', 1}));
}

TEST(HostCompiler, ThatIsNotThereIsNamed) {
  EXPECT_EQ(open_host_cxx({"/nowhere/g++", ""}).error().message(),
            "diecast: compiler_unavailable: no C++ compiler for the host was found\n"
            "  /nowhere/g++: no such program in PATH\n"
            "  fix: correct DIECAST_CXX, or unset it to use c++, g++ or clang++ of PATH");
  EXPECT_NE(open_host_cxx({"false", ""}).error().what.find("it does not tell its version"),
            std::string::npos);
  const TemporaryDirectory empty;
  const Variable path("PATH", empty.path());
  EXPECT_EQ(open_host_cxx({"", ""}).error().message(),
            "diecast: compiler_unavailable: no C++ compiler for the host was found\n"
            "  c++: no such program in PATH\n"
            "  g++: no such program in PATH\n"
            "  clang++: no such program in PATH\n"
            "  fix: apt-get install g++, or name a compiler in DIECAST_CXX");
}

// It is there, and no other one could be asked either.
TEST(HostCompiler, ThatNoDescriptorIsLeftToStartIsNotCalledUnavailable) {
  for (const int left : {0, 4, 7}) {
    EXPECT_EQ(testing::in_child([left] {
                if (!testing::leave_descriptors(left)) return 2;
                const auto compiler = open_host_cxx({"", ""});
                return !compiler && compiler.error().code == ErrorCode::io_error &&
                               compiler.error().fix.find("ulimit -n") != std::string::npos
                           ? 0
                           : 1;
              }),
              0)
        << left;
  }
}

TEST(HostCompiler, TellsOfATemporaryDirectoryThatIsNotThere) {
  const auto compiler = open();
  const Variable temporary("TMPDIR", "/nowhere");
  const auto artifact = compiler->compile(kSource, kHost);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().code, ErrorCode::file_not_found);
  EXPECT_NE(artifact.error().what.find("/nowhere/diecast-"), std::string::npos);
  EXPECT_EQ(artifact.error().fix,
            "set TMPDIR to the absolute path of a folder that has room and that you may write");
}

// The processor time of programs this process ran and waited for, in seconds.
double children_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Measured: 0.1 to 0.2 s at -O2 (an empty source: 0.03 s; -O3: 1.4 times as long, no faster code).
TEST(HostCompiler, CompilesAQuantizerInHalfASecondOfProcessorTime) {
  if (!built_sanitizer().empty()) GTEST_SKIP() << "a sanitizer makes compiling slower";
  const auto files = TemplateFiles::from_directory(DIECAST_SOURCE_DIR "/templates").value();
  const auto quantize = Template::parse("quantize_nvfp4", *files.template_text("quantize_nvfp4"));
  const Bindings bindings = Bindings().set("COLS", 4096).set("IN", "bf16");
  const auto specialization = Specialization::make(quantize.value(), bindings, kHost).value();
  const Source source = render(specialization, files).value();
  const auto compiler = open();
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double before = children_seconds();
    const auto artifact = compiler->compile(source, kHost);
    ASSERT_TRUE(artifact) << artifact.error().message();
    best = std::min(best, children_seconds() - before);
  }
  EXPECT_GT(best, 0);
  EXPECT_LT(best, 0.5);
}

TEST(HostCompiler, RunsOnManyThreads) {
  const auto compiler = open();
  Bytes objects[4];
  std::vector<std::thread> threads;
  for (Bytes& object : objects)
    threads.emplace_back([&] { object = compiler->compile(kSource, kHost).value().payload; });
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& object : objects) EXPECT_TRUE(object == objects[0]);
}

}  // namespace
}  // namespace diecast
