// A communicator over the caller's ncclComm_t. The library is opened at run time and never linked:
// the one that is in the process already, else DIECAST_NCCL, else libnccl.so.2.
#pragma once

#include <diecast/ops/weights/communicator.h>

#include <memory>
#include <string>

namespace diecast {

// `nccl_comm`: an ncclComm_t, which stays the caller's and outlives the communicator. `library`: a
// path or soname instead of those above. Calls are enqueued on the stream they are given, as NCCL's
// are, and return before they are done; a failed call is driver_error with NCCL's own text. Further
// errors: file_not_found (no NCCL), not_supported (a function it lacks, a comm that does not
// block), missing_buffer (no comm).
Result<std::shared_ptr<Communicator>> nccl_communicator(void* nccl_comm,
                                                        const std::string& library = "");

}  // namespace diecast
