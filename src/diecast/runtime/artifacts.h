// From specialization to artifact: from memory, from the cache, or compiled and published.
#pragma once

#include <diecast/runtime/artifact_cache.h>
#include <diecast/runtime/compilers.h>
#include <diecast/runtime/single_flight.h>
#include <diecast/runtime/templates.h>

#include <memory>
#include <string>

namespace diecast {

class Artifacts {
 public:
  Artifacts(Common& common, Templates& templates, Compilers& compilers, ArtifactCache& cache)
      : common_(common), templates_(templates), compilers_(compilers), cache_(cache) {}

  // As Runtime has them. `refused`: code that a device did not take, or null.
  Result<Resolved> resolve(const Specialization& specialization, const Artifact* refused = nullptr);
  Result<bool> holds(const Specialization& specialization);

 private:
  // What one artifact needs on its way.
  struct Request {
    const Specialization& specialization;
    Source source;
    ArtifactKey key;
    Result<std::shared_ptr<Compiler>> compiler;  // why there is none, else
    const Artifact* refused;
    std::string identity() const { return compiler ? (*compiler)->identity() : std::string(); }
  };
  Result<Request> request_of(const Specialization& specialization, const Artifact* refused);
  std::shared_ptr<const Artifact> look(const Request& request);
  Result<Resolved> make(const Request& request);
  // Why it may not be compiled, if so.
  Result<void> may_compile(const Request& request);
  Result<Resolved> compile_once(const Request& request);
  Result<Resolved> compile(const Request& request, DiskCache::Lock lock);

  Common& common_;
  Templates& templates_;
  Compilers& compilers_;
  ArtifactCache& cache_;
  SingleFlight flights_{common_};
};

}  // namespace diecast
