// A program's three streams, and a fourth one that tells of its end, as we see them.
#pragma once

#include <diecast/base/file.h>
#include <diecast/base/process.h>

#include <array>

namespace diecast::process {

// Two connected descriptors, close-on-exec and above 2, so that putting them in place in the child
// never overwrites one that is still needed. Input goes through a socket, because writing to one
// whose reader is gone can be an error instead of a signal.
struct Channel {
  Descriptor ours, theirs;

  int open(bool input);  // 0 or -errno
};

// Serves the streams until the program has ended, which the last channel tells; false if the time
// is up before.
bool serve(const ProcessRequest& request, std::array<Channel, 4>& channels, ProcessResult& result);

}  // namespace diecast::process
