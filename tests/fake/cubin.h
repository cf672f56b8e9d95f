// A minimal valid CUDA ELF file: header, string tables, symbols, one code section a kernel. Equal
// arguments make equal bytes. For the fake NVRTC and for tests that need a cubin to store or load.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

struct FakeCubin {
  std::vector<std::string> symbols;  // kernels
  int cc = 90;                       // compute capability times ten
  std::uint64_t seed = 0;            // decides the bytes of the code
  std::size_t code_bytes = 256;      // of each kernel
  bool cuda13 = true;                // else the header of 12.x: architecture in e_flags' low byte

  std::string bytes() const;
};

namespace fake_cubin_detail {

// Bytes that look like code: a linear congruential sequence, the upper half of each state.
inline std::string code(std::uint64_t seed, std::size_t size) {
  std::string out(size, '\0');
  for (char& byte : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(seed >> 56);
  }
  return out;
}

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Puts a section's content behind what is there and returns its header.
inline Elf64_Shdr add_section(std::string& file, std::string_view content, std::uint32_t name,
                              std::uint32_t type) {
  file.resize((file.size() + 15) / 16 * 16);
  Elf64_Shdr section{};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_offset = file.size();
  section.sh_size = content.size();
  section.sh_addralign = 1;
  file += content;
  return section;
}

inline Elf64_Ehdr header(const FakeCubin& cubin) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = cubin.cuda13 ? 0x41 : 0x33;
  header.e_ident[EI_ABIVERSION] = cubin.cuda13 ? 8 : 7;
  header.e_type = ET_EXEC;
  header.e_machine = 190;  // EM_CUDA
  header.e_version = 1;
  const auto cc = static_cast<std::uint32_t>(cubin.cc);
  header.e_flags = cubin.cuda13 ? 0x06000002u | cc << 8 : 0x00000500u | cc << 16 | cc;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shstrndx = 1;
  return header;
}

}  // namespace fake_cubin_detail

// Sections: none, .strtab (names of sections too), .symtab, then .text.NAME for each kernel; the
// section table is last, so that a file cut anywhere is broken.
inline std::string FakeCubin::bytes() const {
  namespace detail = fake_cubin_detail;
  constexpr std::uint32_t kStrings = 1, kFirstCode = 3;
  std::string names("\0.strtab\0.symtab\0", 17);
  std::string table(sizeof(Elf64_Sym), '\0');
  std::vector<std::uint32_t> section_names;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    section_names.push_back(static_cast<std::uint32_t>(names.size()));
    names += ".text." + symbols[i] + '\0';
    Elf64_Sym symbol{};
    symbol.st_name = section_names.back() + 6;  // behind ".text."
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = static_cast<std::uint16_t>(kFirstCode + i);
    symbol.st_size = code_bytes;
    detail::append(table, symbol);
  }
  Elf64_Ehdr header = detail::header(*this);
  std::string file(sizeof header, '\0');
  std::vector<Elf64_Shdr> sections = {Elf64_Shdr{}};
  sections.push_back(detail::add_section(file, names, 1, SHT_STRTAB));
  sections.push_back(detail::add_section(file, table, 9, SHT_SYMTAB));
  sections.back().sh_link = kStrings;
  sections.back().sh_info = 1;
  sections.back().sh_entsize = sizeof(Elf64_Sym);
  for (std::size_t i = 0; i < symbols.size(); ++i)
    sections.push_back(detail::add_section(file, detail::code(seed + i, code_bytes),
                                           section_names[i], SHT_PROGBITS));
  file.resize((file.size() + 15) / 16 * 16);
  header.e_shoff = file.size();
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  for (const Elf64_Shdr& section : sections) detail::append(file, section);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace diecast::testing
