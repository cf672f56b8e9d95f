// The ELF walker. Structures are copied out of the bytes, never overlaid: the bytes have no
// alignment.
#include <diecast/base/text.h>
#include <diecast/compile/elf.h>

#include <bit>
#include <cstring>

namespace diecast {

static_assert(std::endian::native == std::endian::little, "ELF fields are read as they stand");

namespace {

template <class T>
T copy_at(ByteSpan file, std::uint64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

}  // namespace

Error unexpected_code(std::string_view what) {
  return {ErrorCode::file_corrupt, cat("not the machine code expected: ", what),
          "delete the file it came from; it will be compiled again"};
}

bool Elf::inside(std::uint64_t offset, std::uint64_t size) const {
  return offset <= file_.size() && size <= file_.size() - offset;
}

Result<Elf> Elf::parse(ByteSpan file) {
  if (file.size() < sizeof(Elf64_Ehdr))
    return unexpected_code(cat(file.size(), " bytes are too few for an ELF header"));
  Elf elf;
  elf.file_ = file;
  elf.header_ = copy_at<Elf64_Ehdr>(file, 0);
  if (std::memcmp(elf.header_.e_ident, ELFMAG, SELFMAG) != 0)
    return unexpected_code("no ELF magic number");
  if (elf.header_.e_ident[EI_CLASS] != ELFCLASS64) return unexpected_code("not a 64-bit ELF file");
  if (elf.header_.e_ident[EI_DATA] != ELFDATA2LSB)
    return unexpected_code("not a little-endian ELF file");
  DIECAST_CHECK(elf.read_sections());
  DIECAST_CHECK(elf.check_segments());
  return elf;
}

Result<void> Elf::read_sections() {
  const std::uint64_t count = header_.e_shnum;
  if (count == 0) return unexpected_code("no sections");
  if (header_.e_shentsize != sizeof(Elf64_Shdr))
    return unexpected_code(cat("section headers of ", header_.e_shentsize, " bytes"));
  if (!inside(header_.e_shoff, count * sizeof(Elf64_Shdr)))
    return unexpected_code(cat("section table at ", header_.e_shoff, " with ", count,
                               " entries lies outside of ", file_.size(), " bytes"));
  sections_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto section = copy_at<Elf64_Shdr>(file_, header_.e_shoff + i * sizeof(Elf64_Shdr));
    const bool stored = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (stored && !inside(section.sh_offset, section.sh_size))
      return unexpected_code(cat("section ", i, " (", section.sh_size, " bytes at ",
                                 section.sh_offset, ") lies outside of ", file_.size(), " bytes"));
    sections_.push_back(section);
  }
  return {};
}

Result<void> Elf::check_segments() const {
  const std::uint64_t count = header_.e_phnum;
  if (count == 0) return {};
  if (header_.e_phentsize != sizeof(Elf64_Phdr))
    return unexpected_code(cat("segment headers of ", header_.e_phentsize, " bytes"));
  if (!inside(header_.e_phoff, count * sizeof(Elf64_Phdr)))
    return unexpected_code(cat("segment table at ", header_.e_phoff, " with ", count,
                               " entries lies outside of ", file_.size(), " bytes"));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto segment = copy_at<Elf64_Phdr>(file_, header_.e_phoff + i * sizeof(Elf64_Phdr));
    if (!inside(segment.p_offset, segment.p_filesz))
      return unexpected_code(cat("segment ", i, " (", segment.p_filesz, " bytes at ",
                                 segment.p_offset, ") lies outside of ", file_.size(), " bytes"));
  }
  return {};
}

std::uint64_t Elf::executable_bytes() const {
  std::uint64_t bytes = 0;
  for (const Elf64_Shdr& section : sections_) {
    if ((section.sh_flags & SHF_EXECINSTR) != 0) bytes += section.sh_size;
  }
  return bytes;
}

std::string_view Elf::text(const Elf64_Shdr& table, std::uint64_t offset) const {
  if (table.sh_type != SHT_STRTAB || offset >= table.sh_size) return {};
  const char* begin = reinterpret_cast<const char*>(file_.data()) + table.sh_offset + offset;
  const std::uint64_t limit = table.sh_size - offset;
  const std::uint64_t length = ::strnlen(begin, limit);
  return length == limit ? std::string_view() : std::string_view(begin, length);
}

bool Elf::defines(const Elf64_Shdr& table, std::string_view name) const {
  if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_link >= sections_.size()) return false;
  const Elf64_Shdr& names = sections_[table.sh_link];
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = copy_at<Elf64_Sym>(file_, table.sh_offset + i * sizeof(Elf64_Sym));
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) continue;
    if (text(names, symbol.st_name) == name) return true;
  }
  return false;
}

Result<void> Elf::require_function(std::uint32_t table_type, std::string_view name) const {
  bool tables = false;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != table_type) continue;
    tables = true;
    if (!name.empty() && defines(section, name)) return {};
  }
  if (!tables) return unexpected_code("no symbol table");
  return unexpected_code(cat("no function ", quote(name), " among its symbols"));
}

}  // namespace diecast
