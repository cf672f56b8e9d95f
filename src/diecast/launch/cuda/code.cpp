// The driver loads lazily: cuLibraryLoadData alone puts nothing on the device, and the first launch
// would. On a busy GPU that load waits until the GPU is idle, so it is forced here, where it is
// expected.
#include <diecast/base/text.h>
#include <diecast/launch/cuda/code.h>

#include <algorithm>

namespace diecast {
namespace {

// The driver refuses the code itself: damaged, of another GPU, or newer than the driver (300: no
// CUDA code at all; 500: without the kernel). Compiling it again may help, trying again does not.
constexpr cuda::Result kRefusedCode[] = {200, 209, 218, 221, 222, 223, 300, 500};

// Above it, static memory and dynamic together, a kernel must be told beforehand.
constexpr std::uint32_t kPlainShared = 48 * 1024;
// Blocks a cluster: the same.
constexpr std::uint32_t kPlainCluster = 8;

std::string device_text(const DeviceProperties& device) {
  return cat("device ", device.ordinal, " (", device.name, ", ", device.cc / 10, '.',
             device.cc % 10, ')');
}

struct ReadLibrary final : ReadCode {
  cuda::LibraryHandle* handle = nullptr;
};

// The step's result, or the error that says whose code on which device met which driver.
class Loading {
 public:
  Loading(const Driver& driver, const DeviceProperties& device, const Artifact& artifact)
      : driver_(driver), device_(device), artifact_(artifact) {}

  Result<void> step(cuda::Result code, const char* function) const {
    if (code == cuda::success) return {};
    Error error =
        driver_.failure(code, function,
                        cat("loading ", artifact_.spelling, " (",
                            human_bytes(artifact_.payload.size()), " by ", artifact_.compiler,
                            ") on ", device_text(device_), ", driver ", driver_.version_text()));
    if (std::ranges::find(kRefusedCode, code) != std::end(kRefusedCode)) {
      error.code = ErrorCode::file_corrupt;
    }
    return error;
  }

 private:
  const Driver& driver_;
  const DeviceProperties& device_;
  const Artifact& artifact_;
};

Result<void> make_resident(const Driver& driver, const Loading& loading,
                           cuda::FunctionHandle* function) {
  if (!driver.cuFuncIsLoaded || !driver.cuFuncLoad) return {};  // before 12.4 asking was enough
  int state = 0;
  DIECAST_CHECK(loading.step(driver.cuFuncIsLoaded(&state, function), "cuFuncIsLoaded"));
  if (state == cuda::function_loaded) return {};
  return loading.step(driver.cuFuncLoad(function), "cuFuncLoad");
}

Result<void> allow_shared(const Driver& driver, const Loading& loading, const CudaCode& code,
                          int static_bytes, const LaunchNeeds& needs) {
  if (static_cast<std::uint32_t>(static_bytes) + needs.shared_bytes <= kPlainShared) return {};
  return loading.step(driver.cuFuncSetAttribute(code.function, cuda::max_dynamic_shared_size_bytes,
                                                static_cast<int>(needs.shared_bytes)),
                      "cuFuncSetAttribute");
}

// The first `most` of them. Asking on until the driver has no more would end in a call that fails,
// which compute-sanitizer reports as an error of the program.
std::optional<std::vector<std::size_t>> parameters_of(const Driver& driver,
                                                      cuda::KernelHandle* kernel,
                                                      std::size_t most) {
  if (!driver.cuKernelGetParamInfo) return std::nullopt;
  std::vector<std::size_t> bytes;
  while (bytes.size() < most) {
    std::size_t offset = 0, size = 0;
    const cuda::Result code = driver.cuKernelGetParamInfo(kernel, bytes.size(), &offset, &size);
    if (code == cuda::invalid_value) break;  // the code takes fewer
    if (code != cuda::success) return std::nullopt;
    bytes.push_back(size);
  }
  return bytes;
}

}  // namespace

Result<void> check_runs_on(const DeviceProperties& device, const Artifact& artifact) {
  const std::vector<Target> usable = Target::for_device(device.cc);
  if (artifact.kind == Artifact::Kind::cubin &&
      std::find(usable.begin(), usable.end(), artifact.target) != usable.end())
    return {};
  std::vector<std::string> names;
  for (const Target& target : usable) names.push_back(target.name());
  return Error{ErrorCode::target_not_supported,
               cat(artifact.spelling, ": this code does not run on ", device_text(device)),
               cat("build it for ", join(names, " or "))};
}

Result<std::shared_ptr<ReadCode>> read_cuda_code(const Driver& driver,
                                                 const DeviceProperties& device,
                                                 const Artifact& artifact) {
  DIECAST_CHECK(Driver::usable());
  DIECAST_CHECK(check_runs_on(device, artifact));
  const Loading loading(driver, device, artifact);
  auto library = std::make_shared<ReadLibrary>();
  DIECAST_CHECK(loading.step(driver.cuLibraryLoadData(&library->handle, artifact.payload.data(),
                                                      nullptr, nullptr, 0, nullptr, nullptr, 0),
                             "cuLibraryLoadData"));
  return std::shared_ptr<ReadCode>(std::move(library));
}

Result<std::shared_ptr<ResidentCode>> load_cuda_code(const Driver& driver,
                                                     const DeviceProperties& device,
                                                     const Artifact& artifact,
                                                     const LaunchNeeds& needs,
                                                     const ReadCode* read) {
  const Loading loading(driver, device, artifact);
  auto code = std::make_shared<CudaCode>();
  code->spelling = artifact.spelling;
  DIECAST_CHECK(loading.step(driver.cuCtxGetCurrent(&code->context), "cuCtxGetCurrent"));
  // After a failure below the library stays loaded: unloading waits for the GPU and ends captures.
  std::shared_ptr<ReadCode> read_now;
  if (read == nullptr) {
    DIECAST_TRY(read_now, read_cuda_code(driver, device, artifact));
    read = read_now.get();
  }
  auto* const library = static_cast<const ReadLibrary*>(read)->handle;
  cuda::KernelHandle* kernel = nullptr;
  DIECAST_CHECK(loading.step(driver.cuLibraryGetKernel(&kernel, library, artifact.symbol.c_str()),
                             "cuLibraryGetKernel"));
  DIECAST_CHECK(
      loading.step(driver.cuKernelGetFunction(&code->function, kernel), "cuKernelGetFunction"));
  DIECAST_CHECK(make_resident(driver, loading, code->function));
  DIECAST_CHECK(allow_shared(driver, loading, *code, artifact.static_shared_bytes, needs));
  // Where the GPU knows no such thing a launch that asks for it fails with its own error, so the
  // answer here does not matter.
  if (needs.cluster > kPlainCluster)
    (void)driver.cuFuncSetAttribute(code->function, cuda::non_portable_cluster_size_allowed, 1);
  code->parameters = parameters_of(driver, kernel, needs.parameters);
  return std::shared_ptr<ResidentCode>(std::move(code));
}

Error launch_error(const Driver& driver, const CudaCode& code, const LaunchShape& shape,
                   cuda::Result result) {
  if (is_extended(shape) && !driver.cuLaunchKernelEx)
    return {ErrorCode::driver_unavailable,
            cat("launching ", code.spelling, " needs cuLaunchKernelEx, which ", driver.path(),
                " (CUDA ", driver.version_text(), ") lacks"),
            "install an NVIDIA driver of CUDA 12.0 or newer (525.60 or later)"};
  const auto text = [](const std::array<std::uint32_t, 3>& size) {
    return cat('(', size[0], ", ", size[1], ", ", size[2], ')');
  };
  return driver.failure(
      result, is_extended(shape) ? "cuLaunchKernelEx" : "cuLaunchKernel",
      cat("launching ", code.spelling, " with grid ", text(shape.grid), ", block ",
          text(shape.block), ", ", shape.shared_bytes, " bytes of dynamic shared memory"));
}

}  // namespace diecast
