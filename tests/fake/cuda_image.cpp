// What the fake driver reads of a cubin: its kernels' names and the sizes of their parameters.
#include <elf.h>

#include <cstring>
#include <string_view>

#include "fake/cuda_state.h"

namespace diecast::testing {
namespace {

constexpr unsigned char kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO of an .nv.info section
constexpr unsigned char kSizedValue = 4;        // its entry has a length and so many bytes

struct ParameterInfo {  // as nvcc writes it
  std::uint32_t index;
  std::uint16_t ordinal, offset;
  std::uint32_t flags;  // from bit 18: the size in bytes
};

class Cubin {
 public:
  explicit Cubin(const unsigned char* image) : image_(image) {
    std::memcpy(&header_, image, sizeof header_);
  }
  Elf64_Shdr section(unsigned index) const {
    Elf64_Shdr section;
    std::memcpy(&section, image_ + header_.e_shoff + index * sizeof section, sizeof section);
    return section;
  }
  unsigned sections() const { return header_.e_shnum; }
  std::string_view name(const Elf64_Shdr& section) const {
    return reinterpret_cast<const char*>(image_) + this->section(header_.e_shstrndx).sh_offset +
           section.sh_name;
  }
  std::string_view content(const Elf64_Shdr& section) const {
    return {reinterpret_cast<const char*>(image_) + section.sh_offset, section.sh_size};
  }

 private:
  const unsigned char* image_;
  Elf64_Ehdr header_{};
};

std::vector<std::size_t> parameters(std::string_view info) {
  std::vector<std::size_t> sizes;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = static_cast<unsigned char>(info[at]);
    const auto attribute = static_cast<unsigned char>(info[at + 1]);
    std::uint16_t length = 0;
    std::memcpy(&length, info.data() + at + 2, sizeof length);
    at += 4;
    if (format != kSizedValue) continue;  // the value stood in `length`
    ParameterInfo parameter{};
    if (attribute == kParameterInfo && length == sizeof parameter) {
      std::memcpy(&parameter, info.data() + at, sizeof parameter);
      if (sizes.size() <= parameter.ordinal) sizes.resize(parameter.ordinal + std::size_t{1});
      sizes[parameter.ordinal] = parameter.flags >> 18;
    }
    at += length;
  }
  return sizes;
}

}  // namespace

std::optional<std::unique_ptr<Code>> read_code(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const Cubin cubin(static_cast<const unsigned char*>(image));
  std::map<std::string, std::vector<std::size_t>> known = state().script.parameters;
  auto code = std::make_unique<Code>();
  for (unsigned i = 0; i < cubin.sections(); ++i) {
    const std::string name(cubin.name(cubin.section(i)));
    if (name.rfind(".nv.info.", 0) == 0)
      known.try_emplace(name.substr(9), parameters(cubin.content(cubin.section(i))));
    if (name.rfind(".text.", 0) != 0) continue;
    code->kernels.push_back(std::make_unique<Kernel>());
    code->kernels.back()->symbol = name.substr(6);
  }
  for (const auto& kernel : code->kernels)
    if (const auto found = known.find(kernel->symbol); found != known.end())
      kernel->parameters = found->second;
  return code;
}

}  // namespace diecast::testing
