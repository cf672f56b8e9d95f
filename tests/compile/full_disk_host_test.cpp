// The host's C++ compiler where its temporary files have no room: a small tmpfs in a mount
// namespace of the test's own.
#include <diecast/base/text.h>
#include <diecast/compile/host_cxx.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "child_process.h"
#include "environment_variable.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

constexpr int kSaysSo = 0, kCompiles = 1, kSaysOtherwise = 2, kNotAllowed = 3;

int compile_in(const std::string& folder, const std::string& size, const Source& source) {
  if (::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) != 0) {
    return kNotAllowed;
  }
  const testing::Variable temporary("TMPDIR", folder);
  const auto compiler = open_host_cxx(HostCxxOptions::from_environment());
  const auto made = (*compiler)->compile(source, Target{Target::Kind::host, 0, 0, 1});
  if (made) return kCompiles;
  const Error& error = made.error();
  const bool said = error.code == ErrorCode::io_error &&
                    error.what.find("No space left on device") != std::string::npos &&
                    error.fix.starts_with("set TMPDIR to ");
  return said ? kSaysSo : kSaysOtherwise;
}

// Neither where the source does not fit nor where what is made of it does not: the source is good.
TEST(HostCompiler, OnAFullDiskDoesNotBlameTheSource) {
  std::string text = "extern \"C\" void kernel(void*, void**) {}\n";
  text.resize(60 << 10, '\n');
  const Source source{"kernel.cu", "kernel", text};
  for (const char* const size : {"size=32k", "size=72k"}) {
    const testing::TemporaryDirectory folder;
    const int outcome = testing::in_child([&] { return compile_in(folder.path(), size, source); });
    if (outcome == kNotAllowed) GTEST_SKIP() << "nothing may be mounted here";
    EXPECT_EQ(outcome, kSaysSo) << size;
  }
}

}  // namespace
}  // namespace diecast
