// The machine code of a GPU as text (SASS), by NVIDIA's own programs, which are no part of diecast.
#pragma once

#include <diecast/compile/artifact.h>

#include <string>

namespace diecast {

// The path of nvdisasm or cuobjdump: DIECAST_NVDISASM alone where it is set; else of PATH, of the
// toolkits that CUDA_HOME and CUDA_PATH name, of /usr/local/cuda. Errors: process_failed, which
// says where to get one.
Result<std::string> find_disassembler();

// What that program prints of a cubin. Errors: target_not_supported (code of the host),
// process_failed with the program's own words, as an old one's of a newer GPU; those of
// run_process().
Result<std::string> disassemble(const std::string& program, const Artifact& artifact);

}  // namespace diecast
