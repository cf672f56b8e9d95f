// Kernels of the C interface: any template, prepared and launched.
#include <diecast/c/kernel_arguments.h>
#include <diecast/c/objects.h>

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_kernel_prepare(diecast_handle runtime, diecast_handle device,
                                    const char* spelling, diecast_handle* kernel) {
  return with_runtime(runtime, "diecast_kernel_prepare", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_kernel_prepare", "spelling"));
    DIECAST_CHECK(check_given(kernel, "diecast_kernel_prepare", "kernel"));
    DIECAST_TRY(const auto on, device_of(device, with, "diecast_kernel_prepare"));
    DIECAST_TRY(const Specialization made, with.specialize_for(spelling, *on));
    DIECAST_TRY(auto loaded, with.preload(made, on));
    return open_as<KernelObject>(kernel, std::move(loaded));
  });
}

std::int32_t diecast_kernel_spelling(diecast_handle kernel, diecast_text* spelling) {
  return at_border([&]() -> Result<void> {
    Used<KernelObject> used;
    DIECAST_CHECK(used.take(kernel, "diecast_kernel_spelling"));
    return write_text(spelling, used->kernel->specialization().spelling(),
                      "diecast_kernel_spelling");
  });
}

std::int32_t diecast_kernel_launch(diecast_handle kernel, const diecast_argument* arguments,
                                   std::size_t count, void* stream) {
  return at_border([&]() -> Result<void> {
    Used<KernelObject> used;
    DIECAST_CHECK(used.take(kernel, "diecast_kernel_launch"));
    if (count > 0) DIECAST_CHECK(check_given(arguments, "diecast_kernel_launch", "arguments"));
    DIECAST_TRY(const auto values, arguments_by_name(*used->kernel, {arguments, count}));
    return used->kernel->launch(values, Stream{stream});
  });
}

}  // extern "C"
