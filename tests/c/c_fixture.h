// What tests of the C interface share: a runtime and the host device behind handles, tensors of
// vectors, and the last error as a text.
#pragma once

#include <diecast/c.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast::testing {

inline std::string last_error() {
  diecast_error error{sizeof(diecast_error), 0, "", "", ""};
  if (diecast_last_error(&error) != diecast_ok) return "diecast_last_error failed";
  return std::string(error.word) + ": " + error.what + "\n  fix: " + error.fix;
}

// A dense tensor of the CPU over a vector, which outlives it.
class CTensor {
 public:
  template <class T>
  CTensor(std::vector<T>& values, std::vector<std::int64_t> shape, int code)
      : shape_(std::move(shape)) {
    tensor_.data = values.data();
    tensor_.device_type = 1;
    tensor_.ndim = static_cast<std::int32_t>(shape_.size());
    tensor_.type_code = static_cast<std::uint8_t>(code);
    tensor_.type_bits = 8 * sizeof(T);
    tensor_.type_lanes = 1;
    tensor_.shape = shape_.data();
  }
  CTensor(std::vector<float>& values, std::vector<std::int64_t> shape)
      : CTensor(values, std::move(shape), 2) {}
  CTensor(std::vector<std::uint8_t>& values, std::vector<std::int64_t> shape)
      : CTensor(values, std::move(shape), 1) {}
  CTensor(const CTensor&) = delete;

  const diecast_tensor* get() const { return &tensor_; }
  diecast_tensor* operator->() { return &tensor_; }

 private:
  std::vector<std::int64_t> shape_;
  diecast_tensor tensor_{};
};

// Closes its handle.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  ~Handle() {
    if (number_ != 0) diecast_close(number_);
  }
  diecast_handle* to() { return &number_; }
  operator diecast_handle() const { return number_; }

 private:
  diecast_handle number_ = 0;
};

inline int open_test_runtime(diecast_handle* runtime, diecast_event_callback on_event = nullptr,
                             void* user = nullptr) {
  const std::string cache = std::string(DIECAST_BUILD_DIR) + "/test-cache";
  diecast_runtime_options options{};
  options.size = sizeof options;
  options.cache = cache.c_str();
  options.on_event = on_event;
  options.user = user;
  return diecast_runtime_open(&options, runtime);
}

// A test with a runtime; and with the host device, where there is one.
class CInterface : public ::testing::Test {
 protected:
  CInterface() { EXPECT_EQ(open_test_runtime(runtime_.to()), diecast_ok) << last_error(); }
  Handle runtime_;
};
class COnHost : public CInterface {
 protected:
  void SetUp() override {
    if (diecast_device_open_host(0, host_.to()) != diecast_ok) GTEST_SKIP() << last_error();
  }
  Handle host_;
};

}  // namespace diecast::testing
