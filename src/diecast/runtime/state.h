// The parts of a runtime, in the order in which they are made: each knows only parts above it.
//
//   common     what all share: options, counts, events, trace, whether it is frozen
//   templates  from a name to a template, from a specialization to its source
//   compilers  NVRTC and the host's C++ compiler, opened once
//   cache      the disk cache, with the thread that publishes
//   artifacts  from memory, from the cache, or compiled once
//   tuning     records and what is chosen by them
//   kernels    made of artifacts, resident on a device
//   devices    CUDA devices, opened once
//   prepared   prepared ops of the convenience calls
//
// Locks, in the order in which one thread may take them:
//
//   1. an artifact on its way (single_flight.h): one thread makes it, the others wait for it and
//      hold no lock meanwhile. Nobody who makes one asks for another.
//   2. its key's lock in the disk cache, against other processes; the publishing thread gives it
//      back.
//   3. a compiler's or the devices' lock, held while that is opened (LongMutex).
//   4. a part's own lock (ForkSafe), over lookups in its maps: the last one. Who holds it takes no
//      other, not even another part's.
//
// So no part's own lock is held while a compiler, the disk or a device works, nor while a sink
// runs.
#pragma once

#include <diecast/runtime/devices.h>
#include <diecast/runtime/kernels.h>
#include <diecast/runtime/prepared_table.h>

#include <utility>

namespace diecast {

struct Runtime::State {
  explicit State(RuntimeOptions options) : common(std::move(options)) {}
  // While what was published last is told, a sink may call any part.
  ~State() { cache.flush(); }

  Common common;
  Templates templates{common};
  Compilers compilers{common.options};
  ArtifactCache cache{common};
  Artifacts artifacts{common, templates, compilers, cache};
  Tuning tuning{common};
  Kernels kernels{common, artifacts, tuning};
  Devices devices;
  PreparedTable prepared;
};

}  // namespace diecast
