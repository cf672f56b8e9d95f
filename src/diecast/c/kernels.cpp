// Kernels of the C interface: any template, prepared and launched.
#include <diecast/c/kernel_arguments.h>
#include <diecast/c/objects.h>
#include <diecast/c/recall_launch.h>

using namespace diecast;
using namespace diecast::c;

// A launch that is like none of the thread's last ones.
[[gnu::noinline]] static Result<void> launch_read(std::uint64_t handle, const Kernel& kernel,
                                                  std::span<const diecast_argument> given,
                                                  Stream stream) {
  DIECAST_TRY(const auto values, arguments_by_name(kernel, given));
  if (RecalledLaunch* const last = LastLaunches::make_at(launch_place(handle, given)))
    last->keep(handle, kernel, given, values);
  return kernel.launch(values, stream);
}

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

std::int32_t diecast_kernel_output(diecast_handle kernel, const char* argument,
                                   const diecast_argument* sizes, std::size_t count,
                                   diecast_output* output) {
  return at_border([&]() -> Result<void> {
    Used<KernelObject> used;
    DIECAST_CHECK(used.take(kernel, "diecast_kernel_output"));
    DIECAST_CHECK(check_given(argument, "diecast_kernel_output", "argument"));
    if (count > 0) DIECAST_CHECK(check_given(sizes, "diecast_kernel_output", "sizes"));
    DIECAST_CHECK(check_given(output, "diecast_kernel_output", "output"));
    DIECAST_TRY(*output, output_of(used->kernel->specialization(), argument, {sizes, count}));
    return {};
  });
}

std::int32_t diecast_kernel_launch(diecast_handle kernel, const diecast_argument* arguments,
                                   std::size_t count, void* stream) {
  return at_border([&]() -> Result<void> {
    Used<KernelObject> used;
    DIECAST_CHECK(used.take(kernel, "diecast_kernel_launch"));
    if (count > 0) DIECAST_CHECK(check_given(arguments, "diecast_kernel_launch", "arguments"));
    const std::span given(arguments, count);
    const std::size_t place = launch_place(kernel, given);
    if (RecalledLaunch* const last = LastLaunches::at(place)) {
      if (const auto values = last->take(kernel, given); !values.empty())
        return used->kernel->launch(values, Stream{stream});
    }
    return launch_read(kernel, *used->kernel, given, Stream{stream});
  });
}

}  // extern "C"
