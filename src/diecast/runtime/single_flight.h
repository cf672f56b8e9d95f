// Artifacts in memory, each made once: the first thread that asks for one makes it, and threads
// that ask meanwhile wait for its outcome.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/runtime/common.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace diecast {

// What a kernel is known by in a runtime: templates of one name whose texts differ give the same
// spelling.
struct ArtifactName {
  std::string spelling;
  Digest text;  // of the template
  static ArtifactName of(const Specialization& specialization) {
    return {specialization.spelling(), specialization.tmpl().text_digest()};
  }
  auto operator<=>(const ArtifactName&) const = default;
};

class SingleFlight {
 public:
  using Make = std::function<Result<Resolved>()>;
  explicit SingleFlight(Common& common) : common_(common) {}

  // From memory, unless that is `refused`; else from the thread that is making it; else this thread
  // makes it. What is made stays in memory. After an error, or what `make` throws (out_of_memory or
  // internal), the next caller tries again. A forked child waits for no thread of its parent.
  Result<Resolved> resolve(const ArtifactName& name, const Artifact* refused, const Make& make);

  bool has(const ArtifactName& name);
  void keep(const ArtifactName& name, std::shared_ptr<const Artifact> artifact);  // the first stays

 private:
  struct Flight;
  class Landing;
  Result<Resolved> lead(const ArtifactName& name, Flight& flight, const Make& make);

  Common& common_;
  ForkSafe<std::mutex> mutex_;  // of both maps
  std::map<ArtifactName, std::shared_ptr<const Artifact>> artifacts_;
  std::map<ArtifactName, std::shared_ptr<Flight>> flights_;
};

}  // namespace diecast
