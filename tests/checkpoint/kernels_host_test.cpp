// Checkpoints and vectors through kernels that are compiled for, and run on, this processor.
#include <checkpoint/device_conversion.h>
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <diecast/ops/reference/nvfp4.h>
#include <ops/host_matrix.h>

#include <limits>

namespace diecast::testing {
namespace {

TEST(KernelsOnHost, FilesAreThoseOfTheScalarKernels) {
  const auto device = open_host_device(HostDeviceOptions::from_environment());
  if (!device) GTEST_SKIP() << device.error().message();
  expect_files_as_scalar(*device);
}

// A weight with a NaN, both zeros and a block of nothing else, whole and in stretches of rows.
TEST(KernelsOnHost, WeightsAreThoseOfEveryProfilesReferenceNaNIncluded) {
  const auto device = open_host_device(HostDeviceOptions::from_environment());
  if (!device) GTEST_SKIP() << device.error().message();
  HostMatrix x(DType::f32, 4, 32);
  x.fill([](std::int64_t row, std::int64_t col) {
    if (row == 1 && col == 3) return std::numeric_limits<float>::quiet_NaN();
    const float value = static_cast<float>((row * 32 + col) * 37 % 101) - 50.0f;
    return row == 2 && col < 16 ? -0.0f : value / 7.0f;
  });
  TestFile file;
  const auto* const values = reinterpret_cast<const float*>(x.words.data());
  file.tensors["l.0.n.weight"] = floats({4, 32}, {values, values + 128});
  TemporaryDirectory folder;
  const std::string in = folder / "in", out = folder / "out";
  write_text(in, encode(file));
  const auto reader = Checkpoint::open(in).value();
  const auto text = [](const auto& numbers) {
    return std::string(reinterpret_cast<const char*>(numbers.data()),
                       numbers.size() * sizeof numbers[0]);
  };
  for (const Profile profile :
       {Profile::te, Profile::pr546, Profile::modelopt, Profile::torchao, Profile::te_ref}) {
    for (const bool row_scaled : {false, true}) {
      QuantizeOptions options = sample_options();
      options.allow_nonfinite = true;
      options.row_scaled = row_scaled;
      options.scheme.profile = profile;
      reference::Nvfp4Options rule;
      rule.profile = profile;
      rule.row_scaled = row_scaled;
      const auto want =
          reference::quantize_nvfp4(x.view(), rule, reference::amax(x.view(), rule).value())
              .value();
      std::vector<float> scale_2;
      for (const float amax : want.amax) scale_2.push_back(decode_scale(options.scheme, amax));
      for (const std::uint64_t piece : {1 << 20, 40}) {
        ConvertOptions pieces;
        pieces.piece_bytes = piece;
        pieces.overwrite = true;
        convert(reader, plan_quantize(reader.header(), options).value(), out,
                device_kernels(test_runtime(), *device, options.scheme), pieces)
            .value();
        const TestFile got = decode(text_of(out));
        const std::string what = cat(word(profile), row_scaled ? " rows " : " ", piece);
        EXPECT_TRUE(got.tensors.at("l.0.n.weight").bytes == text(want.codes)) << what;
        EXPECT_TRUE(got.tensors.at("l.0.n.weight_scale").bytes == text(want.scales)) << what;
        EXPECT_TRUE(got.tensors.at("l.0.n.weight_scale_2").bytes == text(scale_2)) << what;
      }
    }
  }
}

TEST(KernelsOnHost, PlainVectorsPassToTheBit) {
  const auto device = open_host_device(HostDeviceOptions::from_environment());
  if (!device) GTEST_SKIP() << device.error().message();
  expect_vectors_pass(*device);
}

}  // namespace
}  // namespace diecast::testing
