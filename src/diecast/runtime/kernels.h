// From artifact to resident kernel: the half of the line that may wait for a device.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/runtime/artifacts.h>
#include <diecast/runtime/tuning/tuning.h>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace diecast {

class Kernels {
 public:
  Kernels(Common& common, Artifacts& artifacts, Tuning& tuning)
      : common_(common), artifacts_(artifacts), tuning_(tuning) {}

  // As Runtime has them.
  Result<std::shared_ptr<Kernel>> preload(const Specialization& specialization,
                                          const std::shared_ptr<Device>& device);
  Result<std::vector<std::shared_ptr<Kernel>>> preload(
      std::span<const Specialization> specializations, const std::shared_ptr<Device>& device);

 private:
  // One artifact is as many kernels as there are launch tunes it is preloaded with.
  struct Name {
    ArtifactName artifact;
    std::string tunes;
    std::shared_ptr<Device> device;
    auto operator<=>(const Name&) const = default;
  };
  // A kernel that may be not resident yet; `fresh`: compiled just now.
  struct Made {
    Name name;
    std::shared_ptr<Kernel> kernel;
    bool fresh = false;
  };
  Result<Made> make(const Specialization& specialization, const std::shared_ptr<Device>& device);
  Result<std::shared_ptr<Kernel>> make_resident(Made made);
  // False: another thread has loaded it meanwhile.
  Result<bool> load(const Name& name, std::shared_ptr<Kernel>& kernel);
  // The kernel under a name: the one there already, unless that is `refused`.
  std::shared_ptr<Kernel> keep(const Name& name, std::shared_ptr<Kernel> made,
                               const Kernel* refused);

  Common& common_;
  Artifacts& artifacts_;
  Tuning& tuning_;
  ForkSafe<std::mutex> mutex_;
  std::map<Name, std::shared_ptr<Kernel>> kernels_;
};

}  // namespace diecast
