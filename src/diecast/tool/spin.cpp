// Launching the kernel that keeps a GPU busy; see spin.h.
#include <diecast/tool/bench_accesses.h>
#include <diecast/tool/spin.h>

namespace diecast::tool {

Result<Spin> Spin::open(Runtime& runtime, const std::shared_ptr<Device>& device) {
  DIECAST_TRY(const auto tmpl, pattern_template("spin"));
  DIECAST_TRY(const auto one, Specialization::make(tmpl, {}, device->targets().front()));
  Spin out;
  DIECAST_TRY(out.kernel_, runtime.preload(one, device));
  return out;
}

Result<void> Spin::run(std::int64_t ns, Stream stream) const {
  const KernelArgument argument = KernelArgument::scalar(ns);
  return kernel_->launch({&argument, 1}, stream);
}

Result<void> use_other_streams(Runtime& runtime, const std::shared_ptr<Device>& device) {
  constexpr int kStreams = 3, kLaunches = 64;
  static bool used = false;
  if (used || device->properties().cc == 0) return {};
  DIECAST_TRY(const Spin spin, Spin::open(runtime, device));
  for (int i = 0; i < kStreams; ++i) {
    DIECAST_TRY(const Stream stream, device->create_stream());
    for (int launch = 0; launch < kLaunches; ++launch) DIECAST_CHECK(spin.run(0, stream));
    DIECAST_CHECK(device->synchronize(stream));
  }
  used = true;
  return {};
}

}  // namespace diecast::tool
