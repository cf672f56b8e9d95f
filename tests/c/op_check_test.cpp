// diecast_op_check: what is wrong with a call by its shapes, types and options, without a device.
#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::CInterface;
using testing::last_error;

// Of no memory: at an address of its own, which nothing may read.
struct Described {
  Described(int place, std::uint8_t code, std::uint8_t bits, std::vector<std::int64_t> sizes)
      : shape(std::move(sizes)) {
    tensor.data = reinterpret_cast<void*>(std::uintptr_t(place) << 32);
    tensor.device_type = 1;
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.type_code = code, tensor.type_bits = bits, tensor.type_lanes = 1;
  }
  Described(const Described&) = delete;
  std::vector<std::int64_t> shape;
  diecast_tensor tensor{};
};

class COpCheck : public CInterface {
 protected:
  // "" or the error without its fix.
  std::string check(std::uint32_t op, const void* tensors, const void* options = nullptr) {
    if (diecast_op_check(runtime_, op, tensors, options) == diecast_ok) return "";
    const std::string error = last_error();
    return error.substr(0, error.find('\n'));
  }
  std::string dequantize(const Described& data, const Described& scale) {
    const Described amax(3, 2, 32, {1});
    diecast_dequantize_nvfp4_tensors given{};
    given.size = sizeof given;
    given.data = &data.tensor, given.scale = &scale.tensor, given.amax = &amax.tensor;
    return check(diecast_op_dequantize_nvfp4, &given);
  }
};

TEST_F(COpCheck, FindsShapesThatDoNotFit) {
  const Described data(1, 1, 8, {3, 32});
  EXPECT_EQ(dequantize(data, {2, 1, 8, {3, 4}}), "");
  EXPECT_EQ(dequantize(data, {2, 1, 8, {2, 4}}),
            "shape_mismatch: dequantize_nvfp4: x: the rowwise scale buffer has 8 bytes, [3, 64] "
            "nvfp4 with linear scales needs 12");
}

TEST_F(COpCheck, FindsTypesThatNoKernelIsMadeFor) {
  const Described x(1, 0, 32, {3, 64});
  diecast_quantize_nvfp4_tensors given{};
  given.size = sizeof given, given.x = &x.tensor;
  EXPECT_EQ(check(diecast_op_quantize_nvfp4, &given), "dtype_mismatch: quantize_nvfp4: x is i32");
}

TEST_F(COpCheck, FindsOptionsThatDoNotGoTogether) {
  const Described x(1, 2, 32, {3, 64});
  diecast_quantize_mx_tensors given{};
  given.size = sizeof given, given.x = &x.tensor;
  diecast_quantize_mx_options options = diecast_quantize_mx_defaults();
  EXPECT_EQ(check(diecast_op_quantize_mx, &given, &options), "");
  options.mode = "ceil";
  EXPECT_NE(check(diecast_op_quantize_mx, &given, &options), "");
}

TEST_F(COpCheck, OfNoOpOrRuntimeIsAnError) {
  EXPECT_EQ(check(0, nullptr), "not_supported: there is no op 0");
  EXPECT_NE(diecast_op_check(0, diecast_op_amax, nullptr, nullptr), diecast_ok);
  EXPECT_EQ(check(diecast_op_amax, nullptr), "invalid_argument: amax: tensors is null");
}

}  // namespace
}  // namespace diecast
