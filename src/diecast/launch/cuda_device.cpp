// Each call of the interface as one or two of the driver, which itself repeats a context's error.
#include <diecast/base/text.h>
#include <diecast/launch/cuda/code.h>
#include <diecast/launch/cuda/context.h>
#include <diecast/launch/cuda/graph.h>
#include <diecast/launch/cuda/properties.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/open_devices.h>

#include <type_traits>

namespace diecast {
namespace {

cuda::StreamHandle* native(Stream stream) {
  return static_cast<cuda::StreamHandle*>(stream.handle);
}
cuda::EventHandle* native(Event event) { return static_cast<cuda::EventHandle*>(event.handle); }
cuda::DevicePointer native(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<const Driver> driver, cuda::Device device, DeviceProperties properties)
      : driver_(std::move(driver)),
        properties_(std::move(properties)),
        contexts_(driver_, device,
                  cat("device ", properties_.ordinal, " (", properties_.name, ')')) {}

  const DeviceProperties& properties() const override { return properties_; }
  std::vector<Target> targets() const override { return Target::for_device(properties_.cc); }
  Result<std::uint64_t> context_id() override { return contexts_.id(); }

  Result<void*> allocate(std::size_t bytes) override;
  Result<void> free(void* memory) override;
  Result<void> copy_to_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override;
  Result<void> copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) override;
  Result<void> copy_on_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override;
  Result<void> fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) override;

  Result<Stream> create_stream() override;
  Result<Stream> prepare_stream(Stream stream) override;
  Result<void> destroy_stream(Stream stream) override;
  Result<void> synchronize(Stream stream) override;
  Result<bool> is_capturing(Stream stream) override;
  Result<std::unique_ptr<RepeatedCalls>> capture(Stream stream,
                                                 std::function<Result<void>()> calls) override;

  Result<Event> create_event() override;
  Result<void> destroy_event(Event event) override;
  Result<void> record(Event event, Stream stream) override;
  Result<double> elapsed_ms(Event from, Event to) override;

  Result<std::shared_ptr<ReadCode>> read(const Artifact& artifact) override {
    return read_cuda_code(*driver_, properties_, artifact);
  }
  Result<std::shared_ptr<ResidentCode>> load(const Artifact& artifact, const LaunchNeeds& needs,
                                             const ReadCode* code) override;
  Result<void> launch(const ResidentCode& code, const LaunchShape& shape, void** parameters,
                      Stream stream) override;
  Result<void> launch_resident(const ResidentList& codes, const LaunchShape& shape,
                               void** parameters, Stream stream) override;
  Result<void> in_context(const std::function<Result<void>()>& call) override;
  const Driver* cuda_driver() const override { return driver_.get(); }

 private:
  bool is_current(const CudaCode& code) const;
  // The rest of launch_resident, for which a usual launch makes no room on its stack.
  [[gnu::cold, gnu::noinline]] Result<void> launch_refused(const CudaCode& code,
                                                           const LaunchShape& shape,
                                                           void** parameters, Stream stream,
                                                           cuda::Result result);
  [[gnu::cold, gnu::noinline]] Result<void> launch_rest(const ResidentList& codes,
                                                        const LaunchShape& shape, void** parameters,
                                                        Stream stream);
  // Runs `call` in this device's context; `doing`, a text or what makes one, is for errors.
  template <class Doing, class Call>
  Result<void> run(const char* function, const Doing& doing, const Call& call) {
    CurrentContext scope(*driver_);
    DIECAST_CHECK(contexts_.enter(scope));
    const cuda::Result code = call();
    if (code == cuda::success) return {};
    if constexpr (std::is_invocable_v<Doing>)
      return driver_->failure(code, function, doing());
    else
      return driver_->failure(code, function, doing);
  }

  template <class Call>
  Result<void> move(const char* function, const char* doing, std::size_t bytes, const Call& call) {
    if (bytes == 0) return {};
    return run(
        function, [&] { return cat(doing, " (", human_bytes(bytes), ')'); }, call);
  }

  const std::shared_ptr<const Driver> driver_;
  const DeviceProperties properties_;
  CudaContexts contexts_;
};

Result<void*> CudaDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return static_cast<void*>(nullptr);
  cuda::DevicePointer memory = 0;
  const auto doing = [&] {
    return cat("allocating ", human_bytes(bytes), " on device ", properties_.ordinal);
  };
  DIECAST_CHECK(run("cuMemAlloc", doing, [&] { return driver_->cuMemAlloc(&memory, bytes); }));
  return reinterpret_cast<void*>(memory);
}

Result<void> CudaDevice::free(void* memory) {
  if (!memory) return {};
  return run("cuMemFree", "freeing device memory",
             [&] { return driver_->cuMemFree(native(memory)); });
}

Result<void> CudaDevice::copy_to_device(void* to, const void* from, std::size_t bytes,
                                        Stream stream) {
  return move("cuMemcpyHtoDAsync", "copying to the device", bytes,
              [&] { return driver_->cuMemcpyHtoDAsync(native(to), from, bytes, native(stream)); });
}

Result<void> CudaDevice::copy_to_host(void* to, const void* from, std::size_t bytes,
                                      Stream stream) {
  return move("cuMemcpyDtoHAsync", "copying to the host", bytes,
              [&] { return driver_->cuMemcpyDtoHAsync(to, native(from), bytes, native(stream)); });
}

Result<void> CudaDevice::copy_on_device(void* to, const void* from, std::size_t bytes,
                                        Stream stream) {
  return move("cuMemcpyDtoDAsync", "copying on the device", bytes, [&] {
    return driver_->cuMemcpyDtoDAsync(native(to), native(from), bytes, native(stream));
  });
}

Result<void> CudaDevice::fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) {
  return move("cuMemsetD8Async", "filling device memory", bytes, [&] {
    return driver_->cuMemsetD8Async(native(memory), byte, bytes, native(stream));
  });
}

Result<Stream> CudaDevice::create_stream() {
  cuda::StreamHandle* stream = nullptr;
  // Not blocking: it neither waits for the legacy default stream nor ends a capture through it.
  DIECAST_CHECK(run("cuStreamCreate", "creating a stream",
                    [&] { return driver_->cuStreamCreate(&stream, cuda::stream_non_blocking); }));
  DIECAST_TRY(const std::uint64_t context, contexts_.id());
  return Stream{stream, context};
}

Result<Stream> CudaDevice::prepare_stream(Stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream.handle) <= cuda::last_default_stream) return stream;
  cuda::ContextHandle* context = nullptr;
  DIECAST_CHECK(run("cuStreamGetCtx", "preparing a stream",
                    [&] { return driver_->cuStreamGetCtx(native(stream), &context); }));
  DIECAST_TRY(stream.context, contexts_.id_of_streams(context));
  return stream;
}

Result<void> CudaDevice::destroy_stream(Stream stream) {
  if (!stream.handle) return {};
  return run("cuStreamDestroy", "destroying a stream",
             [&] { return driver_->cuStreamDestroy(native(stream)); });
}

Result<void> CudaDevice::synchronize(Stream stream) {
  return run("cuStreamSynchronize", "waiting for a stream",
             [&] { return driver_->cuStreamSynchronize(native(stream)); });
}

Result<bool> CudaDevice::is_capturing(Stream stream) {
  int status = cuda::capture_status_none;
  DIECAST_CHECK(run("cuStreamIsCapturing", "asking whether a stream is capturing", [&] {
    const cuda::Result code = driver_->cuStreamIsCapturing(native(stream), &status);
    // The legacy default stream while another one captures: work on it would spoil that capture.
    if (code != cuda::capture_implicit) return code;
    status = cuda::capture_status_active;
    return cuda::success;
  }));
  return status != cuda::capture_status_none;
}

Result<std::unique_ptr<RepeatedCalls>> CudaDevice::capture(Stream stream,
                                                           std::function<Result<void>()> calls) {
  CurrentContext scope(*driver_);
  DIECAST_CHECK(contexts_.enter(scope));
  return capture_graph(driver_, stream, calls);
}

Result<Event> CudaDevice::create_event() {
  cuda::EventHandle* event = nullptr;
  DIECAST_CHECK(
      run("cuEventCreate", "creating an event", [&] { return driver_->cuEventCreate(&event, 0); }));
  return Event{event};
}

Result<void> CudaDevice::destroy_event(Event event) {
  if (!event.handle) return {};
  return run("cuEventDestroy", "destroying an event",
             [&] { return driver_->cuEventDestroy(native(event)); });
}

Result<void> CudaDevice::record(Event event, Stream stream) {
  return run("cuEventRecord", "recording an event",
             [&] { return driver_->cuEventRecord(native(event), native(stream)); });
}

Result<double> CudaDevice::elapsed_ms(Event from, Event to) {
  constexpr const char* kWaiting = "waiting for an event";
  DIECAST_CHECK(run("cuEventSynchronize", kWaiting,
                    [&] { return driver_->cuEventSynchronize(native(from)); }));
  DIECAST_CHECK(
      run("cuEventSynchronize", kWaiting, [&] { return driver_->cuEventSynchronize(native(to)); }));
  float ms = 0;
  DIECAST_CHECK(run("cuEventElapsedTime", "measuring the time between two events",
                    [&] { return driver_->cuEventElapsedTime(&ms, native(from), native(to)); }));
  return double{ms};
}

Result<std::shared_ptr<ResidentCode>> CudaDevice::load(const Artifact& artifact,
                                                       const LaunchNeeds& needs,
                                                       const ReadCode* code) {
  DIECAST_CHECK(check_runs_on(properties_, artifact));
  CurrentContext scope(*driver_);
  DIECAST_CHECK(contexts_.enter(scope));
  return load_cuda_code(*driver_, properties_, artifact, needs, code);
}

Result<void> CudaDevice::launch(const ResidentCode& code, const LaunchShape& shape,
                                void** parameters, Stream stream) {
  DIECAST_CHECK(Driver::usable());
  const auto& loaded = static_cast<const CudaCode&>(code);
  CurrentContext scope(*driver_);
  if (!is_current(loaded)) DIECAST_CHECK(scope.push(loaded.context));
  const cuda::Result result = launch_cuda_code(*driver_, loaded, shape, parameters, native(stream));
  return result == cuda::success ? Result<void>() : launch_error(*driver_, loaded, shape, result);
}

bool CudaDevice::is_current(const CudaCode& code) const {
  cuda::ContextHandle* current = nullptr;
  return driver_->cuCtxGetCurrent(&current) == cuda::success && current == code.context;
}

// A prepared stream is alive, so its context is, and code that is resident there may be launched:
// the driver (580) takes a launch whose function and stream are of one context, whichever is
// current. An older one may refuse it, and then gets it with that context current. Of any other
// stream the current context's id is asked: a function of a context that is gone is no handle.
[[gnu::hot]] Result<void> CudaDevice::launch_resident(const ResidentList& codes,
                                                      const LaunchShape& shape, void** parameters,
                                                      Stream stream) {
  std::uint64_t id = stream.context;
  if (Driver::usable_now() && (id != 0 || contexts_.current_id(&id))) [[likely]] {
    if (const ResidentCode* const code = codes.find(id)) [[likely]] {
      const auto& its = static_cast<const CudaCode&>(*code);
      const auto result = launch_cuda_code(*driver_, its, shape, parameters, native(stream));
      if (result == cuda::success) [[likely]]
        return {};
      return launch_refused(its, shape, parameters, stream, result);
    }
  }
  return launch_rest(codes, shape, parameters, stream);
}

Result<void> CudaDevice::launch_refused(const CudaCode& code, const LaunchShape& shape,
                                        void** parameters, Stream stream, cuda::Result result) {
  if (stream.context == 0 || is_current(code)) return launch_error(*driver_, code, shape, result);
  return launch(code, shape, parameters, stream);
}

Result<void> CudaDevice::launch_rest(const ResidentList& codes, const LaunchShape& shape,
                                     void** parameters, Stream stream) {
  DIECAST_CHECK(Driver::usable());
  if (stream.context != 0) return not_resident();
  return Device::launch_resident(codes, shape, parameters, stream);
}

Result<void> CudaDevice::in_context(const std::function<Result<void>()>& call) {
  CurrentContext scope(*driver_);
  DIECAST_CHECK(contexts_.enter(scope));
  return call();
}

}  // namespace

Result<std::shared_ptr<Device>> open_cuda_device(std::shared_ptr<const Driver> driver,
                                                 int ordinal) {
  // An open device holds its driver, so no other driver has this address.
  static auto& open = *new OpenDevices<std::pair<const Driver*, int>>;
  return open.get({driver.get(), ordinal}, [&]() -> Result<std::shared_ptr<Device>> {
    DIECAST_TRY(const cuda::Device device, device_of(*driver, ordinal));
    DIECAST_TRY(DeviceProperties properties, properties_of(*driver, device, ordinal));
    return std::shared_ptr<Device>(
        std::make_shared<CudaDevice>(std::move(driver), device, std::move(properties)));
  });
}

}  // namespace diecast
