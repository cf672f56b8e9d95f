// Warms a cache for architectures this machine does not have: no GPU and no driver is touched.
#include <diecast/diecast.h>

#include <cstdio>

using namespace diecast;

int main() {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.on_event = [](const RuntimeEvent& event) {
    if (event.kind == RuntimeEvent::Kind::compiled) {
      std::printf("%6.1f ms  %s\n", event.ms, event.spelling.c_str());
    }
  };
  const auto runtime = Runtime::create(options).value();
  const auto wanted = expand_manifest(*runtime,
                                      "quantize_nvfp4 IN=bf16 COLS=4096,5120 @ sm_90a sm_100a\n"
                                      "op amax in=bf16 per=tensor,row @ sm_90a sm_100a\n",
                                      "this example", {}, expand_op)
                          .value();
  int failed = 0;
  for (const WarmOutcome& outcome : warm(*runtime, wanted)) {
    if (!outcome.error) continue;
    std::printf("%s\n", outcome.error->message().c_str());
    ++failed;
  }
  std::printf("%zu wanted, %llu compiled, %llu from %s\n", wanted.size(),
              static_cast<unsigned long long>(runtime->counters().compiled),
              static_cast<unsigned long long>(runtime->counters().disk_hits),
              runtime->cache_state().c_str());
  return failed == 0 ? 0 : 1;
}
