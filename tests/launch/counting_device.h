// A device that counts what is allocated on it; all else is done by the device below.
#pragma once

#include <diecast/launch/device.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace diecast::testing {

class CountingDevice final : public Device {
 public:
  explicit CountingDevice(std::shared_ptr<Device> below) : below_(std::move(below)) {}
  std::uint64_t allocations() const { return allocations_; }

  const DeviceProperties& properties() const override { return below_->properties(); }
  std::vector<Target> targets() const override { return below_->targets(); }
  Result<std::uint64_t> context_id() override { return below_->context_id(); }
  Result<void*> allocate(std::size_t bytes) override {
    ++allocations_;
    return below_->allocate(bytes);
  }
  Result<void> free(void* memory) override { return below_->free(memory); }
  Result<void> copy_to_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override {
    return below_->copy_to_device(to, from, bytes, stream);
  }
  Result<void> copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return below_->copy_to_host(to, from, bytes, stream);
  }
  Result<void> copy_on_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override {
    return below_->copy_on_device(to, from, bytes, stream);
  }
  Result<void> fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) override {
    return below_->fill(memory, byte, bytes, stream);
  }
  Result<Stream> create_stream() override { return below_->create_stream(); }
  Result<Stream> prepare_stream(Stream stream) override { return below_->prepare_stream(stream); }
  Result<void> destroy_stream(Stream stream) override { return below_->destroy_stream(stream); }
  Result<void> synchronize(Stream stream) override { return below_->synchronize(stream); }
  Result<bool> is_capturing(Stream stream) override { return below_->is_capturing(stream); }
  Result<std::unique_ptr<RepeatedCalls>> capture(Stream stream,
                                                 std::function<Result<void>()> calls) override {
    return below_->capture(stream, std::move(calls));
  }
  Result<Event> create_event() override { return below_->create_event(); }
  Result<void> destroy_event(Event event) override { return below_->destroy_event(event); }
  Result<void> record(Event event, Stream stream) override { return below_->record(event, stream); }
  Result<double> elapsed_ms(Event from, Event to) override { return below_->elapsed_ms(from, to); }
  Result<std::shared_ptr<ReadCode>> read(const Artifact& artifact) override {
    return below_->read(artifact);
  }
  Result<std::shared_ptr<ResidentCode>> load(const Artifact& artifact, const LaunchNeeds& needs,
                                             const ReadCode* code) override {
    return below_->load(artifact, needs, code);
  }
  Result<void> launch(const ResidentCode& code, const LaunchShape& shape, void** parameters,
                      Stream stream) override {
    return below_->launch(code, shape, parameters, stream);
  }
  Result<void> launch_resident(const ResidentList& codes, const LaunchShape& shape,
                               void** parameters, Stream stream) override {
    return below_->launch_resident(codes, shape, parameters, stream);
  }
  Result<void> in_context(const std::function<Result<void>()>& call) override {
    return below_->in_context(call);
  }
  const Driver* cuda_driver() const override { return below_->cuda_driver(); }

 private:
  const std::shared_ptr<Device> below_;
  std::atomic<std::uint64_t> allocations_ = 0;
};

}  // namespace diecast::testing
