// Making and waiting; see single_flight.h.
#include <diecast/base/no_throw.h>
#include <diecast/runtime/single_flight.h>
#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>

namespace diecast {

// One artifact on its way.
struct SingleFlight::Flight {
  const pid_t process = ::getpid();  // a forked child has not the thread that makes it
  std::mutex mutex;
  std::condition_variable done;
  bool landed = false;
  Result<Resolved> outcome = out_of_memory();  // unless the leader gets as far as saying it
};

// However a leader leaves, those who wait get an outcome and later callers another try.
class SingleFlight::Landing {
 public:
  Landing(SingleFlight& flights, const ArtifactName& name, Flight& flight)
      : flights_(flights), name_(name), flight_(flight) {}
  Landing(const Landing&) = delete;
  ~Landing() {
    {
      std::lock_guard lock(flights_.mutex_);
      const auto known = flights_.flights_.find(name_);
      if (known != flights_.flights_.end() && known->second.get() == &flight_)
        flights_.flights_.erase(known);
    }
    std::lock_guard lock(flight_.mutex);
    flight_.landed = true;
    flight_.done.notify_all();
  }

 private:
  SingleFlight& flights_;
  const ArtifactName& name_;
  Flight& flight_;
};

Result<Resolved> SingleFlight::resolve(const ArtifactName& name, const Artifact* refused,
                                       const Make& make) {
  std::shared_ptr<Flight> flight;
  bool leader = false;
  {
    std::lock_guard lock(mutex_);
    const auto known = artifacts_.find(name);
    if (known != artifacts_.end() && known->second.get() != refused) {
      ++common_.count.memory_hits;
      return Resolved{known->second, Resolved::Origin::memory};
    }
    auto& entry = flights_[name];
    leader = entry == nullptr || entry->process != ::getpid();
    if (leader) entry = std::make_shared<Flight>();
    flight = entry;
  }
  if (leader) return no_throw([&] { return lead(name, *flight, make); });
  ++common_.count.waited;
  std::unique_lock lock(flight->mutex);
  flight->done.wait(lock, [&] { return flight->landed; });
  if (!flight->outcome) return flight->outcome.error();
  return Resolved{flight->outcome->artifact, Resolved::Origin::memory};
}

Result<Resolved> SingleFlight::lead(const ArtifactName& name, Flight& flight, const Make& make) {
  const Landing landing(*this, name, flight);
  Result<Resolved> outcome = make();
  if (outcome) {
    std::lock_guard lock(mutex_);
    artifacts_.insert_or_assign(name, outcome->artifact);
  }
  flight.outcome = outcome;  // nobody reads it before it has landed
  return outcome;
}

bool SingleFlight::has(const ArtifactName& name) {
  std::lock_guard lock(mutex_);
  return artifacts_.contains(name);
}

void SingleFlight::keep(const ArtifactName& name, std::shared_ptr<const Artifact> artifact) {
  std::lock_guard lock(mutex_);
  artifacts_.try_emplace(name, std::move(artifact));
}

}  // namespace diecast
