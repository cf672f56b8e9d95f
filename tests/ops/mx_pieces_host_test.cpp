// quantize_mx_tiles as GPUs run it, on this processor: pieces of a matrix in shared memory, maxima
// that lanes find together (mx_piece.h). The host itself goes down columns, so this template is a
// copy with that one condition turned. Every output is poisoned before and equal to the reference.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "how_many.h"
#include "ops/covering.h"
#include "ops/host_device_test.h"
#include "ops/variants.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using variants::Covered;

// How rows lie, and whether codes are bytes or two a byte: what a piece's reads and writes go by.
struct Pieces {
  const char* name;
  const char* rows;
  bool packed;
};

void PrintTo(const Pieces& pieces, std::ostream* to) { *to << pieces.name; }

class MxPieces : public HostDeviceTest, public ::testing::WithParamInterface<Pieces> {};

TEST_P(MxPieces, EqualTheReferenceToTheBit) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  std::string from = options.template_directory;
  if (from.empty()) from = DIECAST_SOURCE_DIR "/templates";
  const testing::TemporaryDirectory folder;
  std::filesystem::copy(from, folder.path(), std::filesystem::copy_options::recursive);
  options.template_directory = folder.path();
  options.cache = std::string(DIECAST_BUILD_DIR) + "/test-cache";
  const std::string file = "quantize_mx_tiles.cu", condition = "(!DIECAST_HOST)";
  std::string text = testing::text_of(folder / file);
  ASSERT_NE(text.find(condition), std::string::npos) << file << " has no " << condition;
  testing::write_text(folder / file, text.replace(text.find(condition), condition.size(), "1"));

  const auto runtime = Runtime::create(options).value();
  const auto tmpl = runtime->find_template("quantize_mx_tiles").value();
  const Target target = device_->targets().front();
  auto space = tmpl->space(target).value();
  std::erase_if(space, [](const Bindings& one) {
    return one.find("COLS")->spelling() != "0" || one.find("ROWS")->word != GetParam().rows ||
           (one.find("FORMAT")->word == "mxfp4") != GetParam().packed;
  });
  const auto covered = testing::how_many(Covered::values, Covered::pairs, Covered::pairs);
  std::vector<Specialization> specializations;
  for (const Bindings& bindings : variants::covering_set(space, covered)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  ASSERT_FALSE(specializations.empty());
  for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
    EXPECT_EQ(outcome.resolved->artifact->log, "") << outcome.specialization->spelling();
  }
  for (const Specialization& one : specializations) {
    const auto kernel = runtime->preload(one, device_).value();
    for (const variants::Case& on : variants::cases_of(one)) {
      EXPECT_EQ(variants::difference(*kernel, on), "");
    }
  }
  RecordProperty("variants", static_cast<int>(specializations.size()));
}

INSTANTIATE_TEST_SUITE_P(Ways, MxPieces,
                         ::testing::Values(Pieces{"bytes", "apart", false},
                                           Pieces{"bytes_anywhere", "any", false},
                                           Pieces{"packed", "apart", true},
                                           Pieces{"packed_anywhere", "any", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace diecast
