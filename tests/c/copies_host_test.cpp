// Two copies of diecast in one process, as a program has them that links the C++ library and loads
// the C one: each runs its own kernels, whose symbols have the same name.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>

#include "c/c_fixture.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;

constexpr const char* kNumber = R"(/* diecast
option int NUMBER {1, 2, 3, 4, 5, 6, 7, 8}
arg out out f32 [1]
launch grid(1) block(1)
target host
exchange none
*/
DIECAST_KERNEL { out[0] = static_cast<f32>(NUMBER); }
)";

TEST_F(COnHost, KeepsItsKernelsApartFromThoseOfACopyOfDiecast) {
  const auto runtime = new_test_runtime();
  const auto device = open_host_device().value();
  const auto tmpl = runtime->add_text("number", kNumber).value();
  ASSERT_EQ(diecast_template_add_text(runtime_, "number", kNumber), diecast_ok) << last_error();
  std::vector<float> out_(1);
  CTensor out{out_, {1}};
  const diecast_argument argument = {"out", DIECAST_TENSOR, out.get(), 0, 0, nullptr};
  for (int number = 1; number <= 4; ++number) {
    Handle of_c;
    ASSERT_EQ(
        diecast_kernel_prepare(runtime_, host_, cat("number NUMBER=", number).c_str(), of_c.to()),
        diecast_ok)
        << last_error();
    const auto of_cpp =
        runtime
            ->preload(runtime->specialize(cat("number NUMBER=", number + 4, " @ host")).value(),
                      device)
            .value();
    ASSERT_EQ(diecast_kernel_launch(of_c, &argument, 1, nullptr), diecast_ok) << last_error();
    EXPECT_EQ(out_.front(), static_cast<float>(number));
    of_cpp->launch({{"out", KernelArgument::tensor(DType::f32, out_.data())}}, {}).value();
    EXPECT_EQ(out_.front(), static_cast<float>(number + 4));
  }
}

}  // namespace
}  // namespace diecast
