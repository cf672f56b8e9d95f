// Finding libcuda, its functions and its state. Every refusal names the file, the number and what
// mends it: "no GPU" has a dozen causes, and each has another remedy.
#include <diecast/base/fork.h>
#include <diecast/base/text.h>
#include <diecast/launch/driver.h>
#include <pthread.h>

#include <mutex>

namespace diecast {
namespace {

constexpr int kOldestVersion = 12000;  // cuLibraryLoadData

struct Remedy {
  cuda::Result code;
  const char* fix;
};

constexpr const char* kContextLost =
    "the context is lost, and every later call on it fails alike; this or an earlier kernel of the "
    "process may be the cause (compute-sanitizer finds it): restart the process";
constexpr const char* kBadImage =
    "the machine code is damaged or not for this GPU: delete its cache entry and build it again";
constexpr const char* kNewerCode =
    "the driver is older than the code needs: update the driver, or build with an older NVRTC";
constexpr const char* kMpsServer =
    "look into server.log of CUDA_MPS_LOG_DIRECTORY (/var/log/nvidia-mps): the MPS server may not "
    "have started, or waits until clients beside one that failed have ended too";
constexpr const char* kMpsFull =
    "end another client of the MPS server, or give the GPU fewer processes: it takes no more";
constexpr const char* kCapture =
    "do this before or after the capture: preload kernels and allocate memory before it begins";

constexpr Remedy kRemedies[] = {
    {2, "free device memory or pass less at once; nvidia-smi shows who holds it"},
    {3,
     "a child that was forked after CUDA was in use has to be started by exec or posix_spawn "
     "instead; elsewhere check that nvidia-smi works, in a container too (--gpus all)"},
    {4, "the process is ending: use no GPU in static destructors"},
    {34, "take the toolkit's stubs folder out of LD_LIBRARY_PATH and install the driver"},
    {46,
     "another process holds the GPU alone: end it, or set the compute mode with nvidia-smi -c 0"},
    {101, "check CUDA_VISIBLE_DEVICES against nvidia-smi -L"},
    {200, kBadImage},
    {201, "make a context of this device current, or none so that its primary context is used"},
    {209, kBadImage},
    {214, kContextLost},
    {218, kNewerCode},
    {221, kNewerCode},
    {222, kNewerCode},
    {223, "code is compiled for the exact GPU here: build it for the device's own target"},
    {226, kContextLost},
    {300, kBadImage},
    {400,
     "a stream, event or kernel of another or a destroyed context was given: make it anew in "
     "the context in use"},
    {500, "the machine code lacks the kernel: delete its cache entry and build it again"},
    {700, kContextLost},
    {701,
     "give each block fewer threads or less shared memory; the kernel needs too many registers"},
    {702, kContextLost},
    {709,
     "the context was destroyed, or its device reset: open the device again or make a live context "
     "current, and preload the kernels there"},
    {710,
     "an assert of a kernel does not hold; standard output says which. The context is lost, and "
     "every later call on it fails alike: restart the process"},
    {714, kContextLost},
    {715, kContextLost},
    {716, kContextLost},
    {717, kContextLost},
    {718, kContextLost},
    {719, kContextLost},
    {720, "a cooperative grid must fit the GPU at once: launch fewer or smaller blocks"},
    {802, "start the fabric manager (systemctl start nvidia-fabricmanager) and try again"},
    {803,
     "the kernel module and libcuda are of different versions: reboot, or restart the container"},
    {804, "take the cuda-compat folder out of LD_LIBRARY_PATH: this GPU does not take it"},
    {805, kMpsServer},
    {806, kMpsServer},
    {807, kMpsServer},
    {808, kMpsFull},
    {809, kMpsFull},
    {810,
     "the MPS server has ended this client, perhaps for another's failure: restart the process"},
    {900, kCapture},
    {901, "end this capture and begin a new one; an earlier call on the stream made it invalid"},
    {905, "join the streams with events inside one capture, or keep them apart"},
    {906, "use a stream made with CU_STREAM_NON_BLOCKING instead of the legacy default stream"},
    {907, "wait for the event inside the capture, not outside of it"},
    {908, "end the capture in the thread that began it"},
    {911, kContextLost},
    {912, "a cluster of this size does not fit: use a tune value with a smaller cluster"},
    {999, "check that nvidia-smi works and that /dev/nvidia-uvm exists (modprobe nvidia-uvm)"},
};

std::string remedy(cuda::Result code) {
  for (const Remedy& entry : kRemedies)
    if (entry.code == code) return entry.fix;
  return cat("CUresult ", code, " stands in the CUDA driver API's manual; `diecast doctor` checks ",
             "driver and GPUs");
}

std::string version_text(int version) { return cat(version / 1000, '.', version % 1000 / 10); }

Error unavailable(std::string what, std::string fix) {
  return {ErrorCode::driver_unavailable, std::move(what), std::move(fix)};
}

// None, or one that is too old.
Error no_driver(std::string what) {
  return unavailable(
      std::move(what),
      cat("install an NVIDIA driver of CUDA 12.0 or newer (525.60 or later), ", kUseHost));
}

// Both forms of the finder: cuGetProcAddress_v2 (12.0) says why it found nothing, the older one
// (11.3) does not; what is found is the same.
class Finder {
 public:
  explicit Finder(const Library& library)
      : new_form_(library.function<cuda::Result(const char*, void**, int, std::uint64_t, int*)>(
            "cuGetProcAddress_v2")),
        old_form_(library.function<cuda::Result(const char*, void**, int, std::uint64_t)>(
            "cuGetProcAddress")) {}

  bool exists() const { return new_form_ || old_form_; }

  cuda::Result find(const char* name, int version, void** function) const {
    *function = nullptr;
    if (!new_form_) return old_form_(name, function, version, cuda::legacy_stream);
    int status = 0;
    return new_form_(name, function, version, cuda::legacy_stream, &status);
  }

 private:
  cuda::Result (*new_form_)(const char*, void**, int, std::uint64_t, int*);
  cuda::Result (*old_form_)(const char*, void**, int, std::uint64_t);
};

Error stub(const std::string& path) {
  return unavailable(
      cat(path, " is the toolkit's stub, not a driver (CUDA_ERROR_STUB_LIBRARY, 34)"),
      remedy(cuda::stub_library));
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& path) {
  DIECAST_CHECK(usable());
  auto library = Library::open(path);
  if (!library) return no_driver(cat("no CUDA driver: ", library.error().what));
  std::shared_ptr<Driver> driver(new Driver(*library));
  DIECAST_CHECK(driver->find_functions());
  DIECAST_CHECK(driver->check_version());
  DIECAST_CHECK(driver->initialise());
  // An initialised driver has threads and exit hooks of its own: it must stay mapped.
  library->keep_loaded();
  return std::shared_ptr<const Driver>(std::move(driver));
}

Result<std::shared_ptr<const Driver>> Driver::shared() {
  DIECAST_CHECK(usable());
  static LongMutex mutex;  // a child forked before cuInit takes it from its parent and opens anew
  static const std::shared_ptr<const Driver>* driver = nullptr;  // outlives static destructors
  std::lock_guard lock(mutex);
  if (driver == nullptr) {
    const std::string named = environment_variable("DIECAST_LIBCUDA");
    DIECAST_TRY(auto opened, open(named.empty() ? "libcuda.so.1" : named));
    driver = new std::shared_ptr<const Driver>(std::move(opened));
  }
  return *driver;
}

Error Driver::forked_error() {
  return unavailable(
      "this process was forked after CUDA was in use; CUDA does not work in it",
      "start the child with exec or posix_spawn, or fork before a GPU is first used");
}

Result<void> Driver::find_functions() {
  const Finder finder(library_);
  if (!finder.exists())
    return no_driver(cat(path_, " has no cuGetProcAddress: it is no CUDA driver of 12.0 or newer"));
  std::string missing;
  cuda::Result code = cuda::success;
#define DIECAST_FIND(name, version, needed, parameters)                       \
  if (void* found = nullptr; code != cuda::stub_library) {                    \
    code = finder.find(#name, version, &found);                               \
    this->name = reinterpret_cast<cuda::name##_type*>(found);                 \
    if (needed && !found) missing += cat(missing.empty() ? "" : ", ", #name); \
  }
  DIECAST_CUDA_FUNCTIONS(DIECAST_FIND)
#undef DIECAST_FIND
  if (code == cuda::stub_library) return stub(path_);
  if (cuDriverGetVersion && cuDriverGetVersion(&version_) == cuda::success &&
      version_ < kOldestVersion)
    return {};  // check_version says it better than a list of functions
  if (missing.empty()) return {};
  return no_driver(cat(path_, " (CUDA ", version_text(), ") lacks ", missing));
}

Result<void> Driver::check_version() {
  if (version_ >= kOldestVersion) return {};
  return no_driver(
      cat("the driver ", path_, " is of CUDA ", version_text(), "; diecast needs 12.0 or newer"));
}

Result<void> Driver::initialise() {
  static std::atomic<int> used = 0;
  static const int watched =
      pthread_atfork(nullptr, nullptr, [] { forked_ = forked_ || used != 0; });
  (void)watched;
  ++used;  // before, because a fork may come meanwhile
  const cuda::Result code = cuInit(0);
  // Then nothing is in use, and a child is told what its parent is.
  if (code == cuda::stub_library || code == cuda::no_device) --used;
  if (code == cuda::stub_library) return stub(path_);
  if (code == cuda::no_device) return {};
  if (code != cuda::success)
    return unavailable(
        cat("cuInit of ", path_, " (CUDA ", version_text(), ") returned ", code_name(code)),
        remedy(code));
  has_devices_ = true;
  return {};
}

std::string Driver::version_text() const { return diecast::version_text(version_); }

std::string Driver::code_name(cuda::Result code) const {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) != cuda::success || !name) return cat("CUresult ", code);
  return cat(name, " (", code, ')');
}

Error Driver::failure(cuda::Result code, std::string_view function, std::string_view doing) const {
  return {code == cuda::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::driver_error,
          cat(doing, ": ", function, " returned ", code_name(code)), remedy(code)};
}

}  // namespace diecast
