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

}  // namespace diecast::tool
