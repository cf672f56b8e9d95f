// What devices have in common.
#include <diecast/launch/device.h>

#include <utility>

namespace diecast {
namespace {

class CalledAgain final : public RepeatedCalls {
 public:
  explicit CalledAgain(std::function<Result<void>()> calls) : calls_(std::move(calls)) {}
  Result<void> repeat() override { return calls_(); }

 private:
  const std::function<Result<void>()> calls_;
};

}  // namespace

Result<void> check_device(const std::shared_ptr<Device>& device) {
  if (device != nullptr) return {};
  return Error{ErrorCode::invalid_argument, "no device was given",
               "give runtime.default_device(), or open_host_device()"};
}

Result<std::unique_ptr<RepeatedCalls>> Device::capture(Stream,
                                                       std::function<Result<void>()> calls) {
  return std::unique_ptr<RepeatedCalls>(std::make_unique<CalledAgain>(std::move(calls)));
}

Error Device::not_resident() {
  return {ErrorCode::not_resident, "the code is not resident in this context",
          "call preload() in it before the first launch"};
}

Result<void> Device::launch_resident(const ResidentList& codes, const LaunchShape& shape,
                                     void** parameters, Stream stream) {
  DIECAST_TRY(const std::uint64_t context, context_id());
  if (const ResidentCode* const code = codes.find(context))
    return launch(*code, shape, parameters, stream);
  return not_resident();
}

}  // namespace diecast
