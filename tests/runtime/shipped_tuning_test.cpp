// The records in cache/tuned are whole, and of kernels and tunes that the templates have.
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/record.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

TEST(ShippedTuning, IsOfWhatTheTemplatesHave) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  std::size_t records = 0;
  for (const auto& file : std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/tuned")) {
    if (file.path().extension() != ".txt") continue;
    const TuningFile read = parse_tuning_file(testing::text_of(file.path()));
    EXPECT_TRUE(read.wrong.empty()) << file.path() << ": " << read.wrong.front();
    for (const TuningRecord& record : read.records) {
      const auto tmpl = runtime->find_template(record.kernel.substr(0, record.kernel.find(' ')));
      ASSERT_TRUE(tmpl) << tmpl.error().message();
      const auto checked = check_tuning_record(record, *tmpl);
      EXPECT_TRUE(checked) << file.path() << ": " << checked.error().message();
      EXPECT_EQ(record.outcome, TuningRecord::Outcome::timed) << record.line();
    }
    records += read.records.size();
  }
  EXPECT_GT(records, 0u);
}

}  // namespace
}  // namespace diecast
