// Reading and writing headers; see npy.h. The header is a dictionary of three entries, read word by
// word and never evaluated.
#include <diecast/base/bytes.h>
#include <diecast/base/npy.h>
#include <diecast/base/text.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace diecast {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they stand");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostStart = 12;  // magic, version and the header's length
constexpr std::size_t kMostHeader = 64u << 10;
constexpr std::size_t kMostExtents = 64;  // NumPy's own limit
constexpr std::size_t kAlignment = 64;    // of the elements in a file

Error corrupt(std::string_view path, std::string_view what) {
  return {ErrorCode::file_corrupt, cat(quote(path, 1000), ": ", what),
          "give a file that numpy.save has written, whole"};
}

// Takes words of the header from left to right.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // In quotes of either kind, without any inside.
  std::optional<std::string> string() {
    skip_blanks();
    const char mark = rest_.empty() ? '\0' : rest_[0];
    if (mark != '\'' && mark != '"') return std::nullopt;
    const std::size_t end = rest_.find(mark, 1);
    if (end == rest_.npos) return std::nullopt;
    std::string out(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return out;
  }
  // A list in brackets, as it is written: the fields of a structure.
  std::optional<std::string> list() {
    skip_blanks();
    int depth = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      depth += (rest_[i] == '[') - (rest_[i] == ']');
      if (depth > 0) continue;
      if (i == 0) return std::nullopt;
      std::string out(rest_.substr(0, i + 1));
      rest_.remove_prefix(i + 1);
      return out;
    }
    return std::nullopt;
  }
  std::optional<std::int64_t> number() {
    skip_blanks();
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto out = parse_integer(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return out;
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  std::string_view rest_;
};

struct Header {
  std::optional<std::string> type;
  std::optional<bool> by_columns;
  std::optional<std::vector<std::int64_t>> shape;
};

std::optional<std::vector<std::int64_t>> take_shape(HeaderText& text) {
  std::vector<std::int64_t> out;
  if (!text.take("(")) return std::nullopt;
  while (!text.take(")")) {
    const auto extent = text.number();
    if (!extent || out.size() == kMostExtents) return std::nullopt;
    out.push_back(*extent);
    const bool more = text.take(",");
    if (more || out.size() > 1) {
      if (text.take(")")) return out;
      if (more) continue;
    }
    return std::nullopt;  // (3) is a number, no tuple
  }
  return out;
}

// One entry; false: none that there is, or one that was there before.
bool take_entry(HeaderText& text, Header& header) {
  const auto name = text.string();
  if (!name || !text.take(":")) return false;
  if (*name == "descr" && !header.type) {
    header.type = text.string();
    if (!header.type) header.type = text.list();
    return header.type.has_value();
  }
  if (*name == "shape" && !header.shape) return (header.shape = take_shape(text)).has_value();
  if (*name != "fortran_order" || header.by_columns) return false;
  header.by_columns = text.take("True");
  return *header.by_columns || text.take("False");
}

std::optional<Header> read_header(std::string_view words) {
  HeaderText text(words);
  Header out;
  if (!text.take("{")) return std::nullopt;
  while (!text.take("}")) {
    if (!take_entry(text, out)) return std::nullopt;
    if (text.take(",")) continue;
    if (!text.take("}")) return std::nullopt;
    break;
  }
  const bool whole = text.at_end() && out.type && out.by_columns && out.shape;
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

// Bytes of an element; none for what is no number in this machine's byte order.
std::optional<std::int64_t> element_bytes(std::string_view type) {
  if (type.size() < 3 || std::string_view("<|=").find(type[0]) == std::string_view::npos)
    return std::nullopt;
  if (std::string_view("biufcV").find(type[1]) == std::string_view::npos) return std::nullopt;
  const auto bytes = parse_integer(type.substr(2));
  return bytes && *bytes >= 1 && *bytes <= 32 ? bytes : std::nullopt;
}

Error unreadable(std::string_view path, std::string_view what) {
  return {ErrorCode::not_supported, cat(quote(path, 1000), " ", what),
          "save it as numpy.ascontiguousarray(x) of a plain number type"};
}

// `file`: its beginning with the whole header; `size`: of the whole.
Result<NpyArray> parse(ByteSpan file, std::uint64_t size, std::string_view path) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || file.size() < 10) return corrupt(path, "no .npy file");
  const int version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3)
    return corrupt(path, cat("version ", version, " of the format, which is not known"));
  const std::size_t begin = version == 1 ? 10 : kMostStart;
  if (file.size() < begin) return corrupt(path, "cut short in its header");
  const std::size_t length = version == 1 ? little_endian::take<std::uint16_t>(file.data() + 8)
                                          : little_endian::take<std::uint32_t>(file.data() + 8);
  if (length > kMostHeader)
    return corrupt(path, cat("a header of ", length, " bytes; ", kMostHeader, " are read"));
  if (length > file.size() - begin) return corrupt(path, "cut short in its header");
  const auto header = read_header(text.substr(begin, length));
  if (!header) return corrupt(path, cat("a strange header: ", quote(text.substr(begin, length))));

  const auto width = element_bytes(*header->type);
  if (!width) return unreadable(path, cat("has elements of the type ", quote(*header->type)));
  if (*header->by_columns) return unreadable(path, "is column-major (fortran_order)");
  const std::uint64_t has = size - begin - length;
  std::int64_t bytes = *width;
  for (const std::int64_t extent : *header->shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return corrupt(path, "a shape beyond all measure");
  if (static_cast<std::uint64_t>(bytes) != has)
    return corrupt(path, cat("its shape takes ", bytes, " bytes, and it has ", has));
  return NpyArray{*header->type, *header->shape, begin + length};
}

}  // namespace

Result<NpyArray> parse_npy(ByteSpan file, std::string_view path) {
  return parse(file, file.size(), path);
}

Result<NpyArray> read_npy_header(FileSystem& files, const std::string& path) {
  DIECAST_TRY(const FileStart start, read_file_start(files, path, kMostStart + kMostHeader));
  return parse(start.bytes, start.size, path);
}

Bytes npy_header(std::string_view type, std::span<const std::int64_t> shape) {
  std::string text = cat("{'descr': '", type, "', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += cat(i > 0 ? " " : "", shape[i], i + 1 < shape.size() || i == 0 ? "," : "");
  text += "), }";
  const std::size_t begin = kMagic.size() + 4;
  const std::size_t whole = (begin + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(whole - begin - 1, ' ');
  text += '\n';
  std::string out = cat(kMagic, std::string_view("\x01\x00", 2));
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  const ByteSpan bytes = as_bytes(out += text);
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace diecast
