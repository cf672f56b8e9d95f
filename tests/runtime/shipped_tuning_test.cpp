// The records and bounds in cache/tuned are whole, and of kernels and tunes that the templates
// have.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/bound.h>
#include <diecast/runtime/tuning/record.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

TEST(ShippedTuning, IsOfWhatTheTemplatesHave) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  std::size_t records = 0;
  for (const auto& file : std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/tuned")) {
    if (file.path().extension() != ".txt" || file.path().stem() == "builtin") continue;
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

// Those of one template, its options and a row length follow each other from the fewest elements
// on.
TEST(ShippedTuning, HasBoundsThatGrow) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(options).value();
  const auto bounds = built_in_bounds().value();
  std::map<std::string, const TuningBound*> last;
  for (const TuningBound& bound : bounds) {
    const auto tmpl = runtime->find_template(bound.kernel.name);
    ASSERT_TRUE(tmpl) << tmpl.error().message();
    const auto checked = check_tuning_bound(bound, **tmpl);
    EXPECT_TRUE(checked) << bound.kernel.name << ": " << checked.error().message();
    EXPECT_EQ(bound.device, bounds[0].device);  // all were measured on one
    std::string of = bound.kernel.name;
    for (const auto& [name, words] : bound.kernel.values)
      of += cat(" ", name, "=", join(words, ","));
    const TuningBound*& before = last[of];
    if (before != nullptr) {
      EXPECT_GE(bound.cols, before->cols) << of;
      const bool next =
          bound.cols == before->cols && bound.each_processor == before->each_processor;
      EXPECT_TRUE(!next || bound.below > before->below) << of << " " << bound.below;
    }
    before = &bound;
  }
  EXPECT_GT(last.size(), 3u);
}

}  // namespace
}  // namespace diecast
