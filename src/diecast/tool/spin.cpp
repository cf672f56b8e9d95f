// The kernel that keeps a GPU busy, and launching it; see spin.h.
#include <diecast/tool/spin.h>

#include <string_view>

namespace diecast::tool {
namespace {

constexpr std::string_view kSpin = R"(// spin: keeps the GPU busy for so long, and touches nothing.
/* diecast
arg      ns  i64                                         // nanoseconds
launch   grid(1) block(32)
target   sm_80+
exchange none
*/
DIECAST_DEVICE u64 now() {
  u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

DIECAST_KERNEL {
  const u64 start = now();
  while (now() - start < static_cast<u64>(ns)) __nanosleep(1000);
}
)";

}  // namespace

Result<Spin> Spin::open(Runtime& runtime, const std::shared_ptr<Device>& device) {
  DIECAST_TRY(const auto tmpl, Template::parse("spin", kSpin));
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
