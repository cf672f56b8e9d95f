// An artifact is what a compiler makes of a source: machine code, and the facts that a launch or a
// reader needs.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <diecast/template/target.h>

#include <cstdint>
#include <string>

namespace diecast {

struct Artifact {
  enum class Kind : std::uint16_t { cubin = 1, shared_object = 2 };
  Kind kind = Kind::cubin;
  Target target;
  std::string symbol;           // the kernel's name in the payload
  std::string argument_schema;  // Specialization::argument_schema() it was compiled for
  std::string spelling;         // whose artifact it is, for people
  std::string compiler;         // Compiler::identity() of its maker
  int registers = 0;            // a thread's; 0 on the host
  int spill_bytes = 0;          // stores + loads of spilled registers
  int local_bytes = 0;          // stack frame a thread
  int static_shared_bytes = 0;
  double compile_ms = 0;  // wall time of the compiler
  std::string log;        // warnings, trimmed to 64 KiB
  Bytes payload;
};

// Checks the CUDA ELF header and section table of a cubin: it is for `target`'s architecture, every
// section lies inside, and `symbol` is there. (sm_100, sm_100a and sm_100f look alike here: the
// suffix comes from the key.) Errors: file_corrupt saying which bound broke.
Result<void> check_cubin(ByteSpan cubin, const Target& target, std::string_view symbol);

// Checks that the bytes are an ELF shared object of this machine that has `symbol`. Errors:
// file_corrupt.
Result<void> check_shared_object(ByteSpan object, std::string_view symbol);

}  // namespace diecast
