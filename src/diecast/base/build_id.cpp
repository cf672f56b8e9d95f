// Reads GNU build ids from the notes of shared libraries.
#include <diecast/base/build_id.h>
#include <diecast/base/file.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace diecast {

// Every length is checked: the notes may be of any file.
std::string build_id_in_notes(ByteSpan notes, std::size_t alignment) {
  const std::size_t align = alignment == 8 ? 8 : 4;
  const auto padded = [&](std::size_t size) { return (size + align - 1) / align * align; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    if (name > notes.size() || note.n_descsz > notes.size() - name) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data(), "GNU", 4) == 0)
      return hex(notes.subspan(name, note.n_descsz));
    notes = notes.subspan(std::min(notes.size(), name + padded(note.n_descsz)));
  }
  return {};
}

std::string build_id_of_file(const std::string& path) {
  constexpr std::size_t kNotesLimit = 1 << 20;
  FileSystem& files = system_files();
  const Descriptor file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY, 0));
  const auto read = [&](void* out, std::size_t size, std::uint64_t offset) {
    return read_exactly(files, file.number(), out, size, offset) >= 0;
  };
  ElfW(Ehdr) header;
  if (!file || !read(&header, sizeof header, 0)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)))
    return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read(&segment, sizeof segment, header.e_phoff + i * sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kNotesLimit) continue;
    Bytes notes(segment.p_filesz);
    if (!read(notes.data(), notes.size(), segment.p_offset)) return {};
    if (std::string id = build_id_in_notes(notes, segment.p_align); !id.empty()) return id;
  }
  return {};
}

}  // namespace diecast
