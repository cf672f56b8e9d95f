// A shared library of an engine that uses diecast and shows one function of its own.
#include <diecast/diecast.h>

extern "C" [[gnu::visibility("default")]] int engine_quantizes() {
  const auto runtime = diecast::Runtime::create();
  if (!runtime) return 1;
  const auto device = diecast::open_host_device({});
  if (!device) return 2;
  diecast::QuantizeNvfp4Options options;
  options.device = *device;
  return diecast::quantize_nvfp4(**runtime, {}, {}, options) ? 0 : 3;
}
