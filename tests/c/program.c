/* A C99 program that quantizes 32 numbers on the host device; library_host_test.cpp builds and runs it. */
#include <diecast/c.h>
#include <stdio.h>

static int failed(const char* call) {
  diecast_error error = {sizeof error, 0, 0, 0, 0};
  diecast_last_error(&error);
  printf("%s: %s: %s\n  fix: %s\n", call, error.word, error.what, error.fix);
  return error.code == diecast_not_supported || error.code == diecast_compiler_unavailable ? 77 : 1;
}

static diecast_tensor tensor(void* data, int code, int bits, int64_t* shape) {
  diecast_tensor t = {0};
  t.data = data;
  t.device_type = 1;
  t.ndim = 2;
  t.type_code = (uint8_t)code;
  t.type_bits = (uint8_t)bits;
  t.type_lanes = 1;
  t.shape = shape;
  return t;
}

int main(int count, char** arguments) {
  float x[32], amax[1];
  uint8_t data[16], scale[2];
  int64_t x_shape[] = {1, 32}, data_shape[] = {1, 16}, scale_shape[] = {1, 2}, one[] = {1, 1};
  const diecast_tensor x_t = tensor(x, 2, 32, x_shape), data_t = tensor(data, 1, 8, data_shape);
  const diecast_tensor scale_t = tensor(scale, 1, 8, scale_shape), amax_t = tensor(amax, 2, 32, one);
  diecast_runtime_options options = {0};
  diecast_quantize_nvfp4_tensors tensors = {0};
  diecast_handle runtime = 0, host = 0;
  int i;

  for (i = 0; i < 32; ++i) x[i] = 6.0f;
  options.size = sizeof options;
  options.cache = count > 1 ? arguments[1] : "off";
  if (diecast_runtime_open(&options, &runtime)) return failed("diecast_runtime_open");
  if (diecast_device_open_host(0, &host)) return failed("diecast_device_open_host");
  tensors.size = sizeof tensors;
  tensors.x = &x_t;
  tensors.out_data = &data_t;
  tensors.out_scale = &scale_t;
  tensors.out_amax = &amax_t;
  if (diecast_quantize_nvfp4(runtime, host, &tensors, 0, 0)) return failed("quantize_nvfp4");
  printf("amax %g, codes %x %x, scale %x\n", (double)amax[0], data[0], data[15], scale[0]);
  return diecast_close(host) || diecast_close(runtime);
}
