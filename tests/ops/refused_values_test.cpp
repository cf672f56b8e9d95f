// Every profile and element type that an op can be asked for is known to every template that
// quantizes: where one is not defined, a requirement says why and who has it.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

constexpr const char* kQuantizers[] = {"quantize_nvfp4", "quantize_nvfp4_row_scaled",
                                       "quantize_nvfp4_tiles", "quantize_mx", "quantize_mx_tiles"};

// "" or what is wrong.
std::string refused(const char* quantizer, DType in, Profile profile) {
  testing::FakeMachine machine;
  Bindings bindings;
  bindings.set("IN", in).set("PROFILE", word(profile));
  const auto made =
      machine.runtime()->specialize(quantizer, bindings, Target::parse("sm_90a").value());
  return made ? "" : made.error().message();
}

TEST(RefusedValues, HaveAReasonEverywhere) {
  int done = 0, refusals = 0;
  for (const char* quantizer : kQuantizers) {
    for (int p = 0; p <= static_cast<int>(Profile::flashinfer_dsl_fast); ++p) {
      for (const DType in : {DType::bf16, DType::f16, DType::f32, DType::e4m3}) {
        const std::string message = refused(quantizer, in, static_cast<Profile>(p));
        ++(message.empty() ? done : refusals);
        if (message.empty()) continue;
        EXPECT_EQ(message.rfind("diecast: constraint_violated: ", 0), 0u) << message;
        const std::string require = message.substr(0, message.find('\n'));
        EXPECT_EQ(require.back(), ')') << message;  // the reason
      }
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(refusals, done);
}

TEST(RefusedValues, NameWhoHasThem) {
  const auto says = [](const std::string& message, const char* part) {
    return message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(refused("quantize_nvfp4_tiles", DType::bf16, Profile::flashinfer_exact),
                   "quantize_nvfp4 has them)"));
  EXPECT_TRUE(says(refused("quantize_nvfp4_row_scaled", DType::bf16, Profile::flashinfer_dsl_exact),
                   "(a scale a row is defined by flashinfer_exact and flashinfer_fast, "));
  EXPECT_TRUE(says(refused("quantize_mx", DType::bf16, Profile::pr546),
                   "(the MX formats are defined by profiles te, torchao and modelopt)"));
  EXPECT_TRUE(
      says(refused("quantize_mx_tiles", DType::bf16, Profile::modelopt), "quantize_mx has it)"));
  EXPECT_TRUE(says(refused("quantize_mx", DType::e4m3, Profile::te), "quantize_nvfp4)"));
}

}  // namespace
}  // namespace diecast
