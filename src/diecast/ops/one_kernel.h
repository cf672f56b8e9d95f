// A prepared op of one kernel. The request says which (`kernel(device)`); the op adds its `run`:
//
//   class PreparedQuantizeMx : public OneKernel<PreparedQuantizeMx, QuantizeMxRequest> {
//    public:
//     Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream) const;
//   };
#pragma once

#include <diecast/ops/prepared.h>

#include <memory>
#include <string_view>

namespace diecast {

template <class Op, class OfRequest>
class OneKernel {
 public:
  using Request = OfRequest;
  static constexpr std::string_view kName = Request::kName;

  // Compiles and loads the kernel. Errors: value_not_allowed (a field that is no value of its
  // enum), those of Runtime::specialize_for and Runtime::preload.
  static Result<Op> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                            const Request& request) {
    DIECAST_CHECK(check_device(device));
    DIECAST_CHECK(check_values(request));
    Op op;
    op.request_ = request;
    DIECAST_TRY(op.kernel_, preload_for(runtime, device, request.kernel(device->properties())));
    return op;
  }
  const Request& request() const { return request_; }

 protected:
  Result<void> check_prepared() const { return diecast::check_prepared(kernel_.get(), kName); }
  // `arguments`: a structure of kernel_arguments.h, filled by name.
  template <class Arguments>
  Result<void> launch(const Arguments& arguments, Stream stream,
                      const RequestedRows& requested = {}) const {
    return launch_op(kName, *kernel_, arguments, stream, requested);
  }

  Request request_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
