// Reads the parts of an ELF file that say what it is: header, sections, segments, symbols. The
// bytes may come from anywhere, so every bound is checked by subtraction before anything is read.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <elf.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace diecast {

// The error of bytes that are not the machine code they should be: file_corrupt.
Error unexpected_code(std::string_view what);

class Elf {
 public:
  // A 64-bit little-endian ELF file whose section and segment tables, and everything they point at,
  // lie inside `file`. The bytes must outlive the object. Errors: file_corrupt naming the bound.
  static Result<Elf> parse(ByteSpan file);

  const Elf64_Ehdr& header() const { return header_; }
  std::uint64_t executable_bytes() const;  // of the sections that hold instructions

  // A defined function of this name in the symbol table of `table_type` (SHT_SYMTAB, SHT_DYNSYM)
  // that other files may see. Errors: file_corrupt (there is none, or the table is broken).
  Result<void> require_function(std::uint32_t table_type, std::string_view name) const;

 private:
  bool inside(std::uint64_t offset, std::uint64_t size) const;
  Result<void> read_sections();
  Result<void> check_segments() const;
  // A string of section `table`; empty if it does not end inside.
  std::string_view text(const Elf64_Shdr& table, std::uint64_t offset) const;
  bool defines(const Elf64_Shdr& table, std::string_view name) const;

  ByteSpan file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace diecast
