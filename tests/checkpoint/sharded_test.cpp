// Checkpoints of several files there and back: the bits of one file, cut as the input was.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/compare.h>
#include <errno.h>
#include <fake_file_system.h>
#include <fcntl.h>

#include <algorithm>

namespace diecast::testing {
namespace {

class Sharded : public Convert {
 protected:
  Result<ConvertReport> quantize(const std::string& input, const std::string& output,
                                 const QuantizeOptions& options = sample_options(),
                                 FileSystem& files = system_files()) {
    return quantize_with_scalars(input, output, options, {}, files);
  }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small";
};

TEST_F(Sharded, QuantizedTensorsHaveTheBitsOfOneFile) {
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    const TestFile one = quantized(sample(), options);
    const std::string out = small_ + (row_scaled ? "rows" : "");
    const auto report = quantize(write_shards(model_, sample_shards()), out, options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->quantized, 4u);
    std::map<std::string, TestTensor> together;
    const Shards shards = read_shards(out);
    ASSERT_EQ(shards.size(), 3u);
    for (const auto& [file, content] : shards) {
      EXPECT_EQ(content.metadata.at("file"), file);
      EXPECT_EQ(content.metadata.at("diecast.format"), "nvfp4");
      for (const auto& [name, tensor] : content.tensors)
        EXPECT_TRUE(together.emplace(name, tensor).second);
    }
    EXPECT_TRUE(together == one.tensors);
    EXPECT_EQ(nlohmann::json::parse(text_of(out + "/" + kIndexName)), index_of(shards));
  }
}

TEST_F(Sharded, DequantizedItHasTheFilesAndTheIndexThatItHad) {
  const std::string index = write_shards(model_, sample_shards());
  const std::string home = folder_ / "home";
  ASSERT_TRUE(quantize(model_, small_ + "/"));
  const auto checkpoint = Checkpoint::open(small_).value();
  const Plan plan = plan_dequantize(checkpoint.header()).value();
  const auto report = convert(checkpoint, plan, home, scalar_kernels());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->dequantized, 4u);
  const Shards before = sample_shards(), after = read_shards(home);
  EXPECT_EQ(nlohmann::json::parse(text_of(home + "/" + kIndexName)),
            nlohmann::json::parse(text_of(index)));
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [file, content] : before) {
    EXPECT_EQ(after.at(file).metadata, content.metadata);
    for (const auto& [name, tensor] : content.tensors) {
      EXPECT_EQ(after.at(file).tensors.at(name).dtype, tensor.dtype) << name;
      EXPECT_EQ(after.at(file).tensors.at(name).shape, tensor.shape) << name;
    }
  }
  const auto again = Checkpoint::open(home).value();
  const Comparison compared = compare(Checkpoint::open(model_).value(), again).value();
  EXPECT_EQ(compared.tensors.size(), sample().tensors.size());
  EXPECT_GT(compared.total.decibels(), 15);
  EXPECT_TRUE(compare(again, Checkpoint::open(home).value()).value().identical());
}

// A file of another tool among ours: its weights are no less quantized, but say no type.
TEST_F(Sharded, DequantizingReadsWeightsOfEveryFile) {
  ASSERT_TRUE(quantize(write_shards(model_, sample_shards()), small_));
  Shards shards = read_shards(small_);
  for (auto& [file, content] : shards) {
    const auto quantized = [](const auto& each) { return each.first.ends_with("weight_scale"); };
    if (std::ranges::none_of(content.tensors, quantized)) continue;
    content.metadata.clear();
    break;
  }
  const auto mixed = Checkpoint::open(write_shards(small_, shards)).value();
  const auto untold = plan_dequantize(mixed.header());
  ASSERT_FALSE(untold);
  EXPECT_EQ(untold.error().code, ErrorCode::value_missing);
  const Plan plan = plan_dequantize(mixed.header(), DType::f32).value();
  EXPECT_EQ(std::ranges::count(plan.tensors, Action::dequantize, &PlannedTensor::action), 4);
}

TEST_F(Sharded, OneFileOfAFolderBecomesAFolder) {
  std::filesystem::create_directory(model_);
  write_text(model_ + "/model.safetensors", encode(sample()));
  ASSERT_TRUE(quantize(model_, small_));
  EXPECT_EQ(tree(small_), std::vector<std::string>{"model.safetensors"});
  EXPECT_TRUE(decode(text_of(small_ + "/model.safetensors")).tensors ==
              quantized(sample()).tensors);
  std::filesystem::remove_all(small_);
  std::filesystem::create_directory(small_);
  write_text(small_ + "/model.safetensors.index.json", "{}");
  EXPECT_EQ(quantize(model_, small_).error().code, ErrorCode::file_exists);
}

// Its one file has the name of a checkpoint without an index.
TEST_F(Sharded, AnIndexOfOneFileStaysWhatItIs) {
  const std::string index = write_shards(model_, {{"model.safetensors", sample()}});
  ASSERT_TRUE(quantize(index, small_));
  EXPECT_TRUE(Checkpoint::open(small_).value().index());
  std::filesystem::remove(small_ + "/" + kIndexName);  // as a run leaves it that was killed late
  EXPECT_TRUE(quantize(model_, small_));
  EXPECT_TRUE(Checkpoint::open(small_).value().index());
}

TEST_F(Sharded, AnOutputThatWouldLoseSomethingIsRefused) {
  const std::string index = write_shards(model_, sample_shards());
  const auto refused = [&](const std::string& output) {
    const auto report = quantize(index, output);
    return report ? "converted" : report.error().message();
  };
  const std::string rest = ", but \"" + index +
                           "\" becomes a folder\n  fix: give the output a folder, new or there: "
                           "its files are named as the input's";
  EXPECT_EQ(refused(small_ + ".safetensors"), "diecast: invalid_argument: the output \"" + small_ +
                                                  ".safetensors\" is a file's name" + rest);
  write_text(small_, "old");
  EXPECT_EQ(refused(small_),
            "diecast: file_exists: the output \"" + small_ + "\" is a file" + rest);
  std::filesystem::remove(small_);
  const auto taken = [](const std::string& folder, const std::string& by) {
    return "diecast: file_exists: the folder \"" + folder + "/\" has another checkpoint: \"" + by +
           "\"\n  fix: name a new folder, or remove that checkpoint first";
  };
  EXPECT_EQ(refused(model_), "diecast: invalid_argument: the output \"" + model_ +
                                 "\" is the input's own folder\n  fix: name another folder");
  const std::string other = folder_ / "other";
  std::filesystem::create_directory(other);
  write_text(other + "/model.safetensors", "old");
  EXPECT_EQ(refused(other), taken(other, other + "/model.safetensors"));
  std::filesystem::remove(other + "/model.safetensors");
  // An index of another name than this one's: its files have the names of these.
  const std::string renamed = folder_ / "model/variant.index.json";
  std::filesystem::rename(index, renamed);
  write_text(other + "/" + kIndexName, "{}");
  const auto report = quantize(renamed, other);
  EXPECT_EQ(report ? "converted" : report.error().message(),
            taken(other, other + "/" + kIndexName));
  std::filesystem::rename(renamed, index);
  std::filesystem::remove_all(other);
  EXPECT_EQ(refused(folder_ / "no/such").find("diecast: file_not_found: cannot create the folder"),
            0u);
  EXPECT_EQ(tree(folder_.path()).size(), 5u);  // the folder, its three files and their index
  EXPECT_EQ(read_shards(model_).size(), 3u);
}

TEST_F(Sharded, APlanThatFailsLeavesNoFolder) {
  Shards shards = sample_shards();
  for (auto& [file, content] : shards)
    for (auto& [name, tensor] : content.tensors)
      if (name.find("up_proj") != name.npos) tensor.bytes.replace(0, 2, "\xFF\xFF");
  QuantizeOptions options = sample_options();
  const auto report = quantize(write_shards(model_, shards), small_, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::nonfinite_values);
  EXPECT_EQ(tree(folder_.path()).size(), 5u);
}

TEST_F(Sharded, ANewFolderIsThereAfterALossOfPower) {
  FakeFileSystem files;
  ASSERT_TRUE(quantize(write_shards(model_, sample_shards()), small_, sample_options(), files));
  const auto log = files.log();
  const auto made = std::ranges::find(log, "make_directory_at", &FileCall::name);
  ASSERT_GT(log.end() - made, 2);
  EXPECT_EQ(made[1].path, std::string(folder_.path()) + "/");
  EXPECT_EQ(made[2].name, "sync_all");
}

// Whichever call fails: what has an index is whole, and a folder without one is no checkpoint.
TEST_F(Sharded, WR03_FailureOfAnyCallLeavesNoIndexOfFilesThatAreNotWhole) {
  const std::string index = write_shards(model_, sample_shards());
  ASSERT_TRUE(quantize(index, small_));
  const Shards want = read_shards(small_);
  int failures = 0, without_folder = 0;
  for (int call = 1;; ++call) {
    std::filesystem::remove_all(small_);
    FakeFileSystem files(FakeFileSystem::fail_from(call, EIO, false));
    const auto report = quantize(index, small_, sample_options(), files);
    if (!files.refused()) break;
    const std::string what =
        cat("call ", call, " ", files.log()[static_cast<std::size_t>(call) - 1].name);
    failures += !report;
    without_folder += !std::filesystem::exists(small_);
    if (!std::filesystem::exists(small_ + "/" + kIndexName)) {
      EXPECT_FALSE(report) << what;
      continue;
    }
    const Shards got = read_shards(small_);
    ASSERT_EQ(got.size(), want.size()) << what;
    for (const auto& [file, content] : want) {
      EXPECT_TRUE(got.at(file).tensors == content.tensors) << what;
      EXPECT_EQ(got.at(file).metadata, content.metadata) << what;
    }
  }
  EXPECT_EQ(read_shards(model_).size(), 3u);
  EXPECT_GT(failures, 60);
  EXPECT_GT(without_folder, 50);
}

TEST_F(Sharded, WR03_NoFolderIsLeftWhereThereAreNoUnnamedFiles) {
  const std::string index = write_shards(model_, sample_shards());
  write_text(model_ + "/config.json", "{}");
  for (int last = 1; last <= 3; ++last) {
    int reserved = 0;
    FakeFileSystem files([&](const FileCall& call) {
      const bool unnamed = call.name == "open_at" && (call.flags & O_TMPFILE) == O_TMPFILE;
      const bool full = call.name == "reserve" && ++reserved == last;
      return FileFault{unnamed ? EOPNOTSUPP : full ? ENOSPC : 0};
    });
    EXPECT_FALSE(quantize(index, small_, sample_options(), files)) << last;
    EXPECT_FALSE(std::filesystem::exists(small_)) << last;
  }
}

TEST_F(Sharded, TooLittleSpaceIsToldBeforeAnythingIsMade) {
  const std::string index = write_shards(model_, sample_shards());
  write_text(model_ + "/config.json", std::string(10000, ' '));
  constexpr std::size_t kFree = 12000;  // for the config, but not for the weights too
  FakeFileSystem files([](const FileCall& call) {
    return FileFault{.size = call.name == "free_space" ? kFree : 0};
  });
  const auto refused = quantize(index, small_, sample_options(), files);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io_error);
  std::uint64_t needed = 10000;
  const auto plan = plan_quantize(Checkpoint::open(index).value(), sample_options()).value();
  for (const SafetensorsHeader& file : plan.outputs) needed += file.file_bytes();
  EXPECT_NE(refused.error().message().find(cat(needed - kFree, " bytes are missing")),
            std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists(small_));
  const auto names = files.names();
  EXPECT_EQ(std::ranges::count(names, "make_directory_at"), 0);
  EXPECT_EQ(std::ranges::count(names, "reserve"), 0);
  FakeFileSystem silent(FakeFileSystem::refuse("free_space", ENOSYS));
  EXPECT_TRUE(quantize(index, small_, sample_options(), silent));
}

TEST_F(Sharded, APlanOfAnotherCheckpointIsRefused) {
  write_text(in_, encode(sample()));
  const auto one = Checkpoint::open(in_).value();
  const auto several = Checkpoint::open(write_shards(model_, sample_shards())).value();
  const auto report = convert(several, plan_quantize(one.header(), sample_options()).value(),
                              small_, scalar_kernels());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(),
            "diecast: invalid_argument: the plan is for 1 files, \"" + several.path() +
                "\" has 3\n  fix: make the plan from the header of the checkpoint to convert");
}

}  // namespace
}  // namespace diecast::testing
