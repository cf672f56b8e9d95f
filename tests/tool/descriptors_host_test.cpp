// The command with few descriptors to open: what ran out is said, whatever it ran out in.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tool/run_tool.h"
#include "tool/small_checkpoint.h"

namespace diecast {
namespace {

// A checkpoint of two files; its folder.
std::string write_two_files(const std::string& folder) {
  nlohmann::json index;
  std::filesystem::create_directory(folder);
  for (const char* name : {"a", "b"}) {
    testing::TestFile file;
    file.tensors[cat("layers.0.", name, ".weight")] = testing::random_tensor("F32", {2, 32}, 1);
    testing::write_text(cat(folder, "/", name, ".safetensors"), testing::encode(file));
    index["weight_map"][cat("layers.0.", name, ".weight")] = cat(name, ".safetensors");
  }
  testing::write_text(folder + "/model.safetensors.index.json", index.dump());
  return folder;
}

// As the README says; the streams, of which each process has three, are among the 20.
TEST(ToolOnHost, QuantizingWithTooFewDescriptorsSaysSoAndWithThreeAFileAndTwentyMoreItWorks) {
  testing::ToolRun diecast;
  if (!testing::host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string in = write_two_files(diecast.folder / "in");
  const auto quantize = [&](int descriptors) {
    ProcessRequest request;
    request.arguments = {"/bin/bash",
                         "-c",
                         cat("ulimit -n ", descriptors, "; exec \"$0\" \"$@\""),
                         DIECAST_TOOL,
                         "quantize",
                         in,
                         diecast.folder / "out",
                         "--target",
                         "host"};
    request.environment = diecast.environment();
    return run_process(request).value();
  };
  for (int descriptors = 5; descriptors < 17; ++descriptors) {
    const auto run = quantize(descriptors);
    EXPECT_EQ(run.exit_code, 1) << descriptors;
    EXPECT_NE(run.errors.find("diecast: io_error: "), std::string::npos) << run.errors;
    EXPECT_NE(run.errors.find("(`ulimit -n`)"), std::string::npos) << run.errors;
  }
  const auto run = quantize(3 * 2 + 20);
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

}  // namespace
}  // namespace diecast
