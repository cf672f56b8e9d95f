// The processor that this library is built for, by its name and by its number in ELF files, and
// what this one of its kind has.
#pragma once

#include <elf.h>

#include <cstdint>

namespace diecast {

#if defined(__x86_64__)
inline constexpr const char* kMachine = "x86_64";
inline constexpr std::uint16_t kElfMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr const char* kMachine = "aarch64";
inline constexpr std::uint16_t kElfMachine = EM_AARCH64;
#else
#error "diecast knows x86-64 and AArch64 hosts"
#endif

bool has_avx2();  // never on AArch64

}  // namespace diecast
