// Comparing a key's record with those of the entries there are. The nearest is of the same template
// and differs in the fewest lines of all fields: constants stand one to a line of the source.
#include <diecast/base/text.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/explain.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr const char* kFieldNames[] = {"",        "version", "template", "source",
                                       "options", "target",  "kind",     "argument schema"};
constexpr std::size_t kFields = std::size(kFieldNames);
constexpr auto kSource = static_cast<std::size_t>(KeyTag::source);

// One text a tag; options one to a line, numbers in digits.
struct KeyTexts : std::vector<std::string> {
  int passed_over = 0;  // of the source's lines, all near its beginning
};

// A source's macros of which constants are 0 say nothing that the constants do not, and where there
// is one more or less every line below is another.
int pass_over_zeros(std::string& source) {
  std::string rest;
  int lines = 0;
  for (const std::string_view line : split(source, '\n')) {
    const bool macro = line.starts_with("#define DIECAST_NO_") && line.ends_with(" 1");
    lines += macro;
    if (!macro) rest += cat(line, "\n");
  }
  source = std::move(rest);
  return lines;
}

KeyTexts texts_of(ByteSpan record) {
  KeyTexts out;
  out.resize(kFields);
  const auto fields = Record::parse(record);
  if (!fields) return out;
  for (const Record::Field& field : *fields) {
    if (field.tag >= kFields) continue;
    std::string& text = out[field.tag];
    const auto tag = static_cast<KeyTag>(field.tag);
    if (tag == KeyTag::options) {
      const auto options = Record::parse(field.bytes);
      if (!options) continue;
      for (const Record::Field& option : *options) text += cat(option.text(), "\n");
    } else if (tag == KeyTag::version || tag == KeyTag::kind) {
      text = cat(Record::number(field).value_or(0));
    } else {
      text = field.text();
      if (tag == KeyTag::source) out.passed_over = pass_over_zeros(text);
    }
  }
  return out;
}

struct Difference {
  std::size_t lines = 0;  // that differ, of all fields
  std::size_t field = 0;  // the first that differs; 0: none does
  int before = 0;         // lines of it that are equal before
};

std::size_t different_lines(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  const auto left = split(a, '\n'), right = split(b, '\n');
  const std::size_t both = std::min(left.size(), right.size());
  std::size_t out = std::max(left.size(), right.size()) - both;
  for (std::size_t i = 0; i < both; ++i) out += left[i] != right[i];
  return out;
}

Difference compare(const std::vector<std::string>& here, const std::vector<std::string>& there) {
  Difference out;
  // The cause first: the argument schema and most of the source follow from other fields.
  for (const std::size_t field : {1u, 2u, 5u, 6u, 4u, 3u, 7u}) {
    out.lines += different_lines(here[field], there[field]);
    if (out.field == 0 && here[field] != there[field]) out.field = field;
  }
  const std::string &a = here[out.field], &b = there[out.field];
  const auto [end, other] = std::ranges::mismatch(a, b);
  out.before = static_cast<int>(std::count(a.begin(), end, '\n'));
  return out;
}

std::string line_of(const std::string& text, int number) {
  const auto lines = split(text, '\n');
  return static_cast<std::size_t>(number) < lines.size()
             ? std::string(lines[static_cast<std::size_t>(number)])
             : "";
}

class Search {
 public:
  Search(const ArtifactKey& key, std::string compiler)
      : compiler_(std::move(compiler)), here_(texts_of(key.record.bytes())) {}

  // `own`: whether it stands where the key's own entry belongs.
  void look(const CacheRootSetting& setting, const std::string& compiler, bool own,
            const DecodedEntry& decoded, ByteSpan file) {
    const std::string& root = setting.path;
    if (decoded.fault != EntryFault::none) {
      ++out_.damaged;
      if (own && (compiler_.empty() || compiler_ == compiler)) {
        out_.own_fault = decoded.fault;
        out_.own_root = root;
        out_.own_in_bundle = setting.kind == CacheRootSetting::Kind::bundle;
      }
      return;
    }
    ++out_.entries;
    const auto there = texts_of(entry_record(file));
    if (there[2] != here_[2]) return;  // another template
    const Difference found = compare(here_, there);
    if (!out_.root.empty() && best_.lines <= found.lines) return;
    best_ = found;
    out_.root = root;
    out_.spelling = decoded.artifact.spelling;
    out_.compiler = compiler;
    out_.field = found.field == 0 ? "compiler" : kFieldNames[found.field];
    out_.line = there[found.field].find('\n') == std::string::npos ? 0 : found.before + 1;
    if (found.field == kSource) out_.line += there.passed_over;
    out_.here = found.field == 0 ? compiler_ : line_of(here_[found.field], found.before);
    out_.there = found.field == 0 ? compiler : line_of(there[found.field], found.before);
  }

  void pass_over(Error error) { out_.unread = std::move(error); }
  MissReason reason() const { return out_; }

 private:
  const std::string compiler_;
  const KeyTexts here_;
  Difference best_;
  MissReason out_;
};

}  // namespace

MissReason explain_miss(const CacheRoots& roots, const ArtifactKey& key,
                        const std::string& compiler) {
  Search search(key, compiler);
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (layer.bundle) {
      layer.bundle->read_all([&](const Bundle::Stored& stored) {
        search.look(layer.setting, stored.compiler, stored.key == key.digest, stored.decoded,
                    stored.file);
      });
    } else {
      auto read = layer.directory->read_all([&](const StoredEntry& stored) {
        search.look(layer.setting, stored.compiler, stored.name == entry_name(key.digest),
                    stored.decoded, stored.file);
      });
      if (!read) search.pass_over(std::move(read).error());
    }
  }
  return search.reason();
}

}  // namespace diecast
