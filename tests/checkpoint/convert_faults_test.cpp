// Conversions that meet NaN, a full disk, a changing input, a failing kernel or terabytes.
#include <checkpoint/convert_fixture.h>
#include <diecast/base/text.h>
#include <fake_file_system.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace diecast::testing {
namespace {

TestFile with_nonfinite() {
  TestFile file;
  std::vector<float> values(32, 1.0f);
  values[2] = std::numeric_limits<float>::quiet_NaN();
  values[5] = -std::numeric_limits<float>::quiet_NaN();
  values[20] = -std::numeric_limits<float>::infinity();
  file.tensors = {{"l.0.a.weight", floats({2, 16}, values)},
                  {"l.0.b.weight", random_tensor("BF16", {2, 16}, 3)},
                  {"l.0.c.weight", random_tensor("F16", {2, 16}, 3)}};
  file.tensors["l.0.b.weight"].bytes.replace(0, 2, "\x80\x7F");  // +inf
  file.tensors["l.0.c.weight"].bytes.replace(0, 4,
                                             std::string("\x00\x7C\x01\xFC", 4));  // +inf, NaN
  return file;
}

TEST_F(Convert, NanAndInfinityThatAreAllowedAreCountedByTensor) {
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    options.allow_nonfinite = true;
    const auto report = quantize(with_nonfinite(), options);
    ASSERT_TRUE(report);
    std::string found;
    for (const NonfiniteTensor& tensor : report->nonfinite)
      found += cat(tensor.name, " ", tensor.nan, " ", tensor.infinite, "; ");
    EXPECT_EQ(found, "l.0.a.weight 2 1; l.0.b.weight 0 1; l.0.c.weight 1 1; ");
    const TestFile out = decode(text_of(out_));
    EXPECT_EQ(out.tensors.at("l.0.a.weight").bytes[1] & 15, 7) << "NaN";
    EXPECT_EQ(out.tensors.at("l.0.a.weight").bytes[10] & 15, 15) << "-inf";
  }
}

TEST_F(Convert, NanAndInfinityAreRefusedAndLeaveNoFile) {
  for (const bool row_scaled : {false, true}) {
    QuantizeOptions options = sample_options();
    options.row_scaled = row_scaled;
    const auto report = quantize(with_nonfinite(), options);
    ASSERT_FALSE(report);
    EXPECT_EQ(
        report.error().message(),
        "diecast: nonfinite_values: tensor \"l.0.a.weight\" has 2 NaN and 1 infinite values\n"
        "  fix: mend the tensor, leave it out with --exclude \"l.0.a.weight\", or have it so with "
        "--allow-nonfinite");
    EXPECT_EQ(tree(folder_.path()), std::vector<std::string>{"in.safetensors"});
  }
}

// 10^6 is more than F16 has. What FP8 and NVFP4 stand for is told alike.
TEST_F(Convert, DequantizeTellsWhatOverflowsTheType) {
  TestFile nvfp4, fp8;
  nvfp4.tensors["l.0.a.weight"] = floats({1, 16}, std::vector<float>(16, 1e6f));
  nvfp4.tensors["l.0.b.weight"] = floats({1, 16}, std::vector<float>(16, 1.0f));
  ASSERT_TRUE(quantize(nvfp4));
  fp8.tensors["l.0.a.weight"] = {"F8_E4M3", {1, 16}, std::string(15, '\x38') + '\x7F'};
  fp8.tensors["l.0.a.weight_scale"] = floats({1}, {1e6f});
  const std::string other = folder_ / "fp8";
  write_text(other, encode(fp8));
  for (const auto& [path, nan] : {std::pair(out_, 0u), {other, 1u}}) {
    const Checkpoint checkpoint = Checkpoint::open(path).value();
    ConvertOptions replace;
    replace.overwrite = true;
    const auto converted = [&](DType to, bool strict) {
      Plan plan = plan_dequantize(checkpoint.header(), to).value();
      EXPECT_TRUE(plan.allow_nonfinite);
      plan.allow_nonfinite = !strict;
      return convert(checkpoint, plan, back_, scalar_kernels(), replace);
    };
    const auto told = converted(DType::f16, false).value().nonfinite;
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].name, "l.0.a.weight");
    EXPECT_EQ(told[0].infinite, 16 - nan);
    EXPECT_EQ(told[0].nan, nan);
    EXPECT_EQ(converted(DType::bf16, false).value().nonfinite.size(), nan);
    const std::string before = text_of(back_);
    EXPECT_EQ(converted(DType::f16, true).error().message(),
              cat("diecast: nonfinite_values: tensor \"l.0.a.weight\" becomes ", nan, " NaN and ",
                  16 - nan,
                  " infinite values in f16\n  fix: take a type of a wider range (--to bf16, f32), "
                  "or have it so without --strict"));
    EXPECT_EQ(text_of(back_), before);
  }
}

TEST_F(Convert, WR03_FailureOfAnyCallLeavesInputAndOldOutputAsTheyWere) {
  ASSERT_TRUE(quantize(sample()));
  const std::string complete = text_of(out_);
  ConvertOptions options;
  options.piece_bytes = 2048;
  int failures = 0;
  for (int call = 1;; ++call) {
    options.jobs = call % 3 == 0 ? 3 : 1;
    write_text(out_, "old");
    FakeFileSystem files(FakeFileSystem::fail_from(call, EIO, false));
    const auto report = quantize(sample(), sample_options(), options, files);
    if (!files.refused()) break;
    const std::string what =
        cat("call ", call, " ", files.log()[static_cast<std::size_t>(call) - 1].name);
    const std::string now = text_of(out_);
    EXPECT_TRUE(now == complete || (!report && now == "old")) << what;
    EXPECT_EQ(text_of(in_), encode(sample())) << what;
    EXPECT_EQ(tree(folder_.path()).size(), 2u) << what;
    failures += !report;
  }
  EXPECT_GT(failures, 40);
}

TEST_F(Convert, InputThatChangesMeanwhileIsAnErrorAndLeavesNoFile) {
  write_text(in_, encode(sample()));
  const auto reader = Checkpoint::open(in_);
  ASSERT_TRUE(reader);
  ConvertOptions options;
  options.progress = [&](const ConvertProgress& progress) {
    const timespec later[2] = {{2'000'000'000, 0}, {2'000'000'000, 0}};
    if (progress.done < progress.total) return;
    EXPECT_EQ(::utimensat(AT_FDCWD, in_.c_str(), later, 0), 0);
  };
  const auto report = convert(*reader, plan_quantize(reader->header(), sample_options()).value(),
                              out_, scalar_kernels(), options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "\"" + in_ + "\" changed while it was read");
  EXPECT_EQ(tree(folder_.path()), std::vector<std::string>{"in.safetensors"});
}

TEST_F(Convert, WR06_OutputThatIsTheInputIsRefused) {
  out_ = in_;
  const auto report = quantize(sample());
  ASSERT_FALSE(report);
  EXPECT_EQ(code_word(report.error().code), "invalid_argument");
  EXPECT_EQ(text_of(in_), encode(sample()));
}

TEST_F(Convert, KernelErrorNamesTheTensorAndLeavesNoFile) {
  write_text(in_, encode(sample()));
  const auto reader = Checkpoint::open(in_);
  ConvertKernels kernels = scalar_kernels();
  kernels.quantize = [](ByteSpan, DType, std::int64_t, std::int64_t, float, std::span<std::byte>,
                        std::span<std::byte>) -> Result<void> {
    return Error{ErrorCode::out_of_memory, "no room for 1 MiB", "free some"};
  };
  const Plan plan = plan_quantize(reader->header(), sample_options()).value();
  const std::string& first = plan.tensors[plan.groups[0][0]].name;
  ConvertOptions options;
  for (const std::size_t jobs : {1, 4}) {  // every group fails
    options.jobs = jobs;
    const auto report = convert(*reader, plan, out_, kernels, options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message(), cat("diecast: out_of_memory: tensor \"", first,
                                            "\": no room for 1 MiB\n  fix: free some"));
  }
  EXPECT_EQ(tree(folder_.path()), std::vector<std::string>{"in.safetensors"});
}

TEST_F(Convert, PlanOfAnotherFileIsAnError) {
  write_text(in_, encode(sample()));
  const auto reader = Checkpoint::open(in_);
  TestFile other;
  other.tensors["l.0.x.weight"] = random_tensor("BF16", {16, 16}, 1);
  write_text(back_, encode(other));
  const Plan plan = plan_quantize(Checkpoint::open(back_)->header(), sample_options()).value();
  const auto report = convert(*reader, plan, out_, scalar_kernels());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what,
            "the plan has a tensor \"l.0.x.weight\", \"" + in_ + "\" has none of that name");
}

TEST_F(Convert, WeightOfTerabytesInASparseFileIsTakenInPieces) {
  const std::string header =
      R"({"l.0.a.weight":{"dtype":"BF16","shape":[1,1099511627776],"data_offsets":[0,2199023255552]}})";
  write_text(in_, file_of(header));
  if (::truncate(in_.c_str(), static_cast<off_t>(8 + header.size()) + (off_t{1} << 41)) != 0)
    GTEST_SKIP() << "no sparse files here";
  int reads = 0;
  FakeFileSystem files([&](const FileCall& call) -> FileFault {
    if (call.name == "reserve" || call.name == "free_space")
      return {EOPNOTSUPP};  // take no terabytes from the disk
    return {call.name == "read_at" && ++reads > 5 ? EIO : 0};
  });
  const auto reader = Checkpoint::open(in_, false, files);
  ASSERT_TRUE(reader);
  const Plan plan = plan_quantize(reader->header(), sample_options()).value();
  ConvertOptions options;
  options.piece_bytes = 1 << 16;
  EXPECT_EQ(held_values(plan, options), 0u);
  const auto report = convert(*reader, plan, out_, scalar_kernels(), options, files);
  ASSERT_FALSE(report);
  EXPECT_EQ(code_word(report.error().code), "io_error");
  EXPECT_EQ(reads, 6) << "the header, three pieces, and what was enough";
}

}  // namespace
}  // namespace diecast::testing
