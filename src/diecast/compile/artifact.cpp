// What is checked of machine code before a driver or the loader sees it.
#include <diecast/base/machine.h>
#include <diecast/base/text.h>
#include <diecast/compile/artifact.h>
#include <diecast/compile/elf.h>

namespace diecast {
namespace {

constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA
constexpr std::uint8_t kCudaAbi13 = 8;       // EI_ABIVERSION since CUDA 13.0; 7 before

// CUDA 13 moved the architecture's number from the lowest byte of e_flags to the second.
int cubin_architecture(const Elf64_Ehdr& header) {
  const bool moved = header.e_ident[EI_ABIVERSION] >= kCudaAbi13;
  return static_cast<int>((moved ? header.e_flags >> 8 : header.e_flags) & 0xff);
}

}  // namespace

Result<void> check_cubin(ByteSpan cubin, const Target& target, std::string_view symbol) {
  DIECAST_TRY(const Elf elf, Elf::parse(cubin));
  if (elf.header().e_machine != kCudaMachine)
    return unexpected_code(cat("ELF machine ", elf.header().e_machine, " is not CUDA's (190)"));
  if (elf.header().e_type != ET_EXEC)
    return unexpected_code(
        cat("ELF type ", elf.header().e_type, " is not an executable cubin's (2)"));
  const int architecture = cubin_architecture(elf.header());
  if (target.is_host() || architecture != target.cc)
    return unexpected_code(cat("built for sm_", architecture, ", not for ", target.name()));
  return elf.require_function(SHT_SYMTAB, symbol);
}

Result<void> check_shared_object(ByteSpan object, std::string_view symbol) {
  DIECAST_TRY(const Elf elf, Elf::parse(object));
  if (elf.header().e_machine != kElfMachine)
    return unexpected_code(
        cat("ELF machine ", elf.header().e_machine, " is not this one's (", kElfMachine, ")"));
  if (elf.header().e_type != ET_DYN)
    return unexpected_code(cat("ELF type ", elf.header().e_type, " is not a shared object's (3)"));
  return elf.require_function(SHT_DYNSYM, symbol);
}

}  // namespace diecast
