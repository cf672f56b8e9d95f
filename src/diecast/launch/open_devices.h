// The devices that are open in this process, held weakly: one that is opened twice is one device.
// A function that opens its device in each call then has one thread pool, and what a runtime keeps
// for a device it finds again.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/launch/device.h>

#include <map>
#include <memory>
#include <mutex>

namespace diecast {

template <class Key>
class OpenDevices {
 public:
  // The device that is open under this key, else what `open` makes. Errors: those of `open`.
  template <class Open>
  Result<std::shared_ptr<Device>> get(const Key& key, const Open& open) {
    const std::lock_guard lock(mutex_);
    if (process_ != ::getpid()) {  // a child's own: its parent's have threads that are not there
      open_ = new std::map<Key, std::weak_ptr<Device>>;  // the other may be half changed
      process_ = ::getpid();
    }
    if (auto known = (*open_)[key].lock()) return known;
    Result<std::shared_ptr<Device>> made = open();
    if (made) (*open_)[key] = *made;
    return made;
  }

 private:
  LongMutex mutex_;  // held while a device is opened
  pid_t process_ = 0;
  std::map<Key, std::weak_ptr<Device>>* open_ = nullptr;
};

}  // namespace diecast
