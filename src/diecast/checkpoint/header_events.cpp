// The header is read event by event: no tree of it is ever built, so its limits hold before memory
// is taken, and a key given twice is seen.
#include <diecast/base/text.h>
#include <diecast/checkpoint/header_events.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace diecast {
namespace {

// What nlohmann's parser calls; false ends the parse. The member names are its.
class HeaderEvents {
 public:
  HeaderEvents(SafetensorsHeader& header, bool strict) : header_(header), strict_(strict) {}

  std::string fault;  // why the parse ended early

  bool null();
  bool boolean(bool) { return other("a boolean"); }
  bool number_integer(std::int64_t) { return other("a negative number"); }
  bool number_float(double, const std::string&) {
    return other("a number that is no integer of 64 bits");
  }
  bool binary(nlohmann::json::binary_t&) { return other("binary data"); }
  bool number_unsigned(std::uint64_t number);
  bool string(std::string& text);
  bool start_object(std::size_t);
  bool key(std::string& text);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) {
    return fail(cat("the header is not JSON at byte ", position, ", near ", quote(token, 40)));
  }

 private:
  enum class At { start, file, metadata, tensor, shape, offsets, unknown };
  enum Field { kDtype = 0, kShape = 1, kOffsets = 2, kUnknown = 3 };

  bool fail(std::string text) {
    if (fault.empty()) fault = std::move(text);
    return false;
  }
  bool enter() {
    if (++depth_ <= kHeaderDepthLimit) return true;
    return fail(cat("the header nests deeper than ", kHeaderDepthLimit, " levels"));
  }
  bool skipping() const { return at_ == At::unknown || (at_ == At::tensor && field_ == kUnknown); }
  bool other(std::string_view kind);
  bool start_tensor();
  std::string subject() const;
  bool twice(std::string_view key) { return fail(cat(subject(), ": ", key, " is given twice")); }

  SafetensorsHeader& header_;
  bool strict_;
  At at_ = At::start;
  Field field_ = kUnknown;
  bool seen_[3] = {};
  bool seen_metadata_ = false;
  int depth_ = 0;
  int unknown_depth_ = 0;  // levels inside a field that is skipped
  std::string key_;        // of the file, or of the metadata
  std::vector<std::uint64_t> pair_;
};

std::string HeaderEvents::subject() const {
  if (at_ == At::start) return "the header";
  if (at_ == At::file || at_ == At::metadata) return cat("header entry ", quote(key_));
  static constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
  std::string text = cat("tensor ", quote(header_.tensors.back().name));
  return field_ == kUnknown ? text : cat(text, ", ", kFields[field_]);
}

bool HeaderEvents::other(std::string_view kind) {
  return skipping() || fail(cat(subject(), ": ", kind, " is not allowed here"));
}

// Metadata that is null is none, as the reference reader has it.
bool HeaderEvents::null() {
  if (at_ != At::file || key_ != "__metadata__") return other("null");
  return !std::exchange(seen_metadata_, true) || twice("the entry");
}

bool HeaderEvents::number_unsigned(std::uint64_t number) {
  if (at_ == At::shape) {
    std::vector<std::uint64_t>& dims = header_.tensors.back().shape;
    if (dims.size() == kRankLimit) {
      return fail(cat(subject(), ": more than ", kRankLimit, " dimensions"));
    }
    dims.push_back(number);
    return true;
  }
  if (at_ != At::offsets) return other("a number");
  if (pair_.size() == 2) return fail(cat(subject(), ": more than two numbers"));
  pair_.push_back(number);
  return true;
}

bool HeaderEvents::string(std::string& text) {
  if (at_ == At::metadata) {
    if (header_.metadata.size() == kMetadataLimit) {
      return fail(cat("more than ", kMetadataLimit, " metadata entries"));
    }
    return header_.metadata.emplace(key_, std::move(text)).second || twice("a metadata entry");
  }
  if (at_ != At::tensor || field_ != kDtype) return other("a string");
  const std::optional<StoredDType> type = parse_stored_dtype(text);
  if (!type) return fail(cat(subject(), ": ", quote(text, 40), " is not a known element type"));
  header_.tensors.back().dtype = *type;
  return true;
}

bool HeaderEvents::start_object(std::size_t) {
  if (!enter()) return false;
  if (at_ == At::start) {
    at_ = At::file;
    return true;
  }
  if (at_ == At::file) {
    if (key_ != "__metadata__") return start_tensor();
    if (std::exchange(seen_metadata_, true)) return twice("the entry");
    at_ = At::metadata;
    return true;
  }
  if (!skipping()) return other("an object");
  at_ = At::unknown;
  ++unknown_depth_;
  return true;
}

bool HeaderEvents::start_tensor() {
  if (header_.tensors.size() == kTensorLimit) {
    return fail(cat("more than ", kTensorLimit, " tensors"));
  }
  header_.tensors.emplace_back().name = key_;
  at_ = At::tensor;
  field_ = kUnknown;
  std::fill(std::begin(seen_), std::end(seen_), false);
  return true;
}

bool HeaderEvents::key(std::string& text) {
  if (at_ == At::file || at_ == At::metadata) key_ = std::move(text);
  if (at_ != At::tensor) return true;
  field_ = text == "dtype"          ? kDtype
           : text == "shape"        ? kShape
           : text == "data_offsets" ? kOffsets
                                    : kUnknown;
  if (field_ == kUnknown) {
    return !strict_ || fail(cat(subject(), ": unknown field ", quote(text, 40)));
  }
  return !std::exchange(seen_[field_], true) || twice("the field");
}

bool HeaderEvents::end_object() {
  --depth_;
  if (at_ == At::unknown) {
    if (--unknown_depth_ == 0) at_ = At::tensor;
    return true;
  }
  if (at_ == At::tensor) {
    field_ = kUnknown;
    if (!seen_[kDtype]) return fail(cat(subject(), " has no dtype"));
    if (!seen_[kShape]) return fail(cat(subject(), " has no shape"));
    if (!seen_[kOffsets]) return fail(cat(subject(), " has no data_offsets"));
  }
  at_ = At::file;
  return true;
}

bool HeaderEvents::start_array(std::size_t) {
  if (!enter()) return false;
  if (skipping()) {
    at_ = At::unknown;
    ++unknown_depth_;
    return true;
  }
  if (at_ != At::tensor || field_ == kDtype) return other("an array");
  at_ = field_ == kShape ? At::shape : At::offsets;
  pair_.clear();
  return true;
}

bool HeaderEvents::end_array() {
  --depth_;
  if (at_ == At::unknown) {
    if (--unknown_depth_ == 0) at_ = At::tensor;
    return true;
  }
  if (at_ == At::offsets) {
    if (pair_.size() != 2) return fail(cat(subject(), ": not two numbers"));
    header_.tensors.back().begin = pair_[0];
    header_.tensors.back().end = pair_[1];
  }
  at_ = At::tensor;
  return true;
}

}  // namespace

std::string read_entries(std::string_view json, bool strict, SafetensorsHeader& header) {
  // The parser below skips a byte order mark and takes a NUL for the end of the text.
  if (json.find('\0') != json.npos) return "the header holds a NUL byte";
  if (!json.starts_with('{')) return "the header does not begin with {";
  json = json.substr(0, json.find_last_not_of(' ') + 1);  // padding may be long
  HeaderEvents events(header, strict);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return events.fault;
  // White space that the parser takes and the format does not.
  return json.ends_with('}') ? "" : "the header is padded with other than spaces";
}

}  // namespace diecast
