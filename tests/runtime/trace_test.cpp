// DIECAST_TRACE: the line of everything that a runtime was asked for.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::kAmax;

Result<Resolved> traced_amax(Runtime& runtime) {
  return runtime.resolve(runtime.specialize(kAmax).value());
}

TEST(Trace, HoldsEachLineOnceAndIsAManifest) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.trace = machine.nvrtc.directory() + "/trace";
  std::string traced_spelling;
  for (int process = 0; process < 2; ++process) {
    const auto traced = Runtime::create(options).value();
    traced_spelling = traced->specialize(kAmax).value().spelling();
    ASSERT_TRUE(traced_amax(*traced));
    ASSERT_TRUE(traced_amax(*traced));
  }
  const std::string line = traced_spelling + "\n";
  EXPECT_EQ(testing::text_of(options.trace), line + line);
  testing::write_text(options.trace, "amax IN=bf16");  // a line that was cut off stays one
  ASSERT_TRUE(traced_amax(*Runtime::create(options).value()));
  EXPECT_EQ(testing::text_of(options.trace), "amax IN=bf16\n" + line);
  options.trace = "/nonexistent/trace";
  EXPECT_EQ(Runtime::create(options).error().code, ErrorCode::file_not_found);
}

TEST(Trace, LeavesAFileOfSomethingElseAsItIs) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.trace = machine.nvrtc.directory() + "/notes";
  for (const std::string text : {"# of today\nhello world\n", "hello",
                                 "\x7f"
                                 "ELF\x02"}) {
    testing::write_text(options.trace, text);
    const auto refused = Runtime::create(options);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::parse_error);
    EXPECT_EQ(testing::text_of(options.trace), text);
  }
  EXPECT_EQ(Runtime::create(options).error().message(),
            cat("diecast: parse_error: the trace \"", options.trace,
                "\" is another file: it begins with \"\\x7fELF\\x02\"\n"
                "  fix: give DIECAST_TRACE the path of a new file, or of a trace or manifest"));
  for (const char* text : {"", "# a comment\n", "amax IN=bf16 @ sm_90a\n"}) {
    testing::write_text(options.trace, text);
    EXPECT_TRUE(Runtime::create(options)) << text;
  }
}

}  // namespace
}  // namespace diecast
