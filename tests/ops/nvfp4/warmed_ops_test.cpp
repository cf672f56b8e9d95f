// What an engine warms on a machine without a GPU is what its prepared ops then ask for: the
// shipped manifests, and the trace of one run for the GPUs of another architecture.
#include <diecast/base/text.h>
#include <diecast/ops/expand_ops.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "how_many.h"
#include "ops/fake_gpu.h"

namespace diecast {
namespace {

using Request = PreparedQuantizeNvfp4::Request;

class WarmedOps : public testing::OnFakeGpu {
 protected:
  static std::string manifest(const std::string& name) {
    return testing::text_of(DIECAST_SOURCE_DIR "/cache/manifests/" + name);
  }
  // The spellings of everything that is resolved while `use` runs.
  template <class Use>
  std::set<std::string> asked_for(Use use) {
    RuntimeOptions options = machine_.options();
    options.cache = "off";
    options.trace = folder_ / "trace.txt";
    std::filesystem::remove(options.trace);
    use(*Runtime::create(options).value());
    std::set<std::string> out;
    const std::string text = testing::text_of(options.trace);
    for (const std::string_view line : split(trim(text), '\n')) out.emplace(line);
    return out;
  }
  std::set<std::string> warmed(const std::string& text, std::string_view target) {
    std::set<std::string> out;
    for (const Specialization& one :
         expand_manifest(*runtime_, text, "manifest", std::array{Target::parse(target).value()},
                         expand_op)
             .value())
      out.insert(one.spelling());
    return out;
  }
  testing::TemporaryDirectory folder_;
};

TEST_F(WarmedOps, AskForNothingThatTheManifestOfTheirModelLacks) {
  const int every = testing::how_many(4, 1, 1);
  int lengths = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(DIECAST_SOURCE_DIR "/cache/manifests")) {
    const std::string text = testing::text_of(file.path());
    const std::size_t cols = text.find(" cols=");
    if (cols == text.npos) continue;  // nvfp4.txt, below
    const auto known = warmed(text, "sm_90a");
    const auto asked = asked_for([&](Runtime& runtime) {
      for (const std::string_view length : split(
               std::string_view(text).substr(cols + 6, text.find(' ', cols + 1) - cols - 6), ',')) {
        if (lengths++ % every != 0) continue;
        for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
          for (const bool given : {false, true}) {
            const Request request{.amax_given = given,
                                  .cols = parse_integer(length).value(),
                                  .out = {.layout = layout}};
            ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(runtime, device_, request));
          }
        }
      }
    });
    for (const std::string& line : asked) EXPECT_TRUE(known.contains(line)) << file.path() << line;
  }
  EXPECT_GT(lengths, 70);
}

TEST_F(WarmedOps, OfAnyLengthAskForNothingThatNvfp4Lacks) {
  const auto known = warmed(manifest("nvfp4.txt"), "sm_90a");
  const auto asked = asked_for([&](Runtime& runtime) {
    for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
      for (const RowsClass rows : {RowsClass::dense, RowsClass::apart, RowsClass::any}) {
        for (const bool row_scaled : {false, true}) {
          for (const bool given : {false, true}) {
            const Request request{
                .in = type, .rows = rows, .amax_given = given, .out = {.row_scaled = row_scaled}};
            if (row_scaled && given) continue;
            ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(runtime, device_, request));
          }
        }
      }
    }
  });
  EXPECT_GT(asked.size(), 20u);
  for (const std::string& line : asked) EXPECT_TRUE(known.contains(line)) << line;
}

// Under an encode scale with the scales that products take, under an amax of the tensor, and rows
// that find their own.
TEST_F(WarmedOps, AskOnAnotherArchitectureForWhatATraceHas) {
  const auto engine = [&](Runtime& runtime) {
    for (const std::int64_t cols : {0, 512, 4096, 7168}) {
      Request request{.amax_given = true, .cols = cols, .global = GlobalScale::encode};
      request.out.layout = ScaleLayout::s128x4;
      ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(runtime, device_, request));
      ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(runtime, device_, {.cols = cols}));
      ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(runtime, device_,
                                                 {.cols = cols, .out = {.row_scaled = true}}));
    }
  };
  asked_for(engine);
  const auto known = warmed(testing::text_of(folder_ / "trace.txt"), "sm_100a");
  machine_.cuda->gpus[0].cc = 100;
  device_ = machine_.cuda.device();
  const auto asked = asked_for(engine);
  EXPECT_EQ(asked, known);
  EXPECT_GT(asked.size(), 15u);
}

}  // namespace
}  // namespace diecast
