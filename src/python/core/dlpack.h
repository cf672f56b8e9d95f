// DLPack's structures, as its page describes them: what frameworks give for a tensor.
#pragma once

#include <diecast/c.h>

#include <cstdint>

namespace diecast::python {

struct DLVersion {
  std::uint32_t major, minor;
};

struct DLManaged {  // a capsule named "dltensor"
  diecast_tensor tensor;
  void* context;
  void (*deleter)(DLManaged*);
};

struct DLManagedVersioned {  // "dltensor_versioned"
  DLVersion version;
  void* context;
  void (*deleter)(DLManagedVersioned*);
  std::uint64_t flags;
  diecast_tensor tensor;
};
inline constexpr std::uint64_t kReadOnly = 1, kPadded = 4;  // of flags

// The table of C functions that a tensor's type has: "dlpack_exchange_api".
struct DLExchangeHeader {
  DLVersion version;
  const DLExchangeHeader* previous;
};
struct DLExchange {
  DLExchangeHeader header;
  int (*allocate)(diecast_tensor*, DLManagedVersioned**, void*,
                  void (*)(void*, const char*, const char*));
  int (*managed_from_object)(void*, DLManagedVersioned**);
  int (*object_from_managed)(DLManagedVersioned*, void**);
  int (*view_from_object)(void*, diecast_tensor*);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

}  // namespace diecast::python
