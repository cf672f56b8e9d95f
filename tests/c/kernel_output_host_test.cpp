// What an output of a kernel is, told by the C interface from the sizes of a call.
#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::Handle;
using testing::last_error;

constexpr const char* kHalves = R"(/* diecast
option   type  T     {f32, i32}
option   int   STEP  {1, 2} = 2
let      PIECE = STEP * bits(T) / 8
size     rows
size     cols
arg      x     in   f32 [rows, cols]
arg      y     out  T   [ceil_div(rows, STEP), cols > 8 ? PIECE : rows - cols]
arg      rows
arg      cols
launch   grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { y[0] = (T)x[0]; }
)";

class CKernelOutput : public COnHost {
 protected:
  void SetUp() override {
    COnHost::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(diecast_template_add_text(runtime_, "halves", kHalves), diecast_ok) << last_error();
    ASSERT_EQ(diecast_kernel_prepare(runtime_, host_, "halves T=i32", kernel_.to()), diecast_ok)
        << last_error();
  }
  int ask(const char* name, std::int64_t rows, std::int64_t cols, std::size_t count = 2) {
    const diecast_argument sizes[] = {{"rows", DIECAST_SIZE, nullptr, rows, 0, nullptr},
                                      {"cols", DIECAST_SIZE, nullptr, cols, 0, nullptr}};
    return diecast_kernel_output(kernel_, name, sizes, count, &output_);
  }
  std::vector<std::int64_t> shape() const { return {output_.shape, output_.shape + output_.ndim}; }
  Handle kernel_;
  diecast_output output_{};
};

TEST_F(CKernelOutput, HasTheTypeAndShapeOfTheHeader) {
  ASSERT_EQ(ask("y", 5, 9), diecast_ok) << last_error();
  EXPECT_STREQ(output_.dtype, "i32");
  EXPECT_EQ(output_.index, 1u);
  EXPECT_EQ(shape(), (std::vector<std::int64_t>{3, 8}));
  ASSERT_EQ(ask("y", 5, 4), diecast_ok) << last_error();
  EXPECT_EQ(shape(), (std::vector<std::int64_t>{3, 1}));
  ASSERT_EQ(ask("x", 5, 4), diecast_ok) << last_error();
  EXPECT_EQ(shape(), (std::vector<std::int64_t>{5, 4}));
}

TEST_F(CKernelOutput, IsRefusedWhereTheSizesDoNotTellIt) {
  EXPECT_EQ(ask("y", 5, 0, 1), diecast_value_missing);
  EXPECT_EQ(last_error(),
            "value_missing: halves: the shape of y, [ceil_div(rows, STEP), cols > 8 ? PIECE : rows "
            "- cols], does not follow from the tensors: nothing tells cols\n"
            "  fix: pass cols, or y");
  EXPECT_EQ(ask("y", 5, 6), diecast_shape_mismatch);
  EXPECT_EQ(ask("y", -5, 6), diecast_value_not_allowed);
  EXPECT_EQ(ask("rows", 5, 6), diecast_invalid_argument);
  EXPECT_EQ(ask("none", 5, 6), diecast_invalid_argument);
  EXPECT_EQ(ask(nullptr, 5, 6), diecast_invalid_argument);
  EXPECT_EQ(diecast_kernel_output(kernel_, "y", nullptr, 2, &output_), diecast_invalid_argument);
  EXPECT_EQ(diecast_kernel_output(kernel_, "y", nullptr, 0, nullptr), diecast_invalid_argument);
}

}  // namespace
}  // namespace diecast
