// Matching names, once for each tensor; see globs.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/globs.h>
#include <fnmatch.h>

#include <algorithm>

namespace diecast {
namespace {

// A NUL, which would end the name, is a byte that only wildcards match.
bool matches(const std::string& glob, std::string name) {
  std::replace(name.begin(), name.end(), '\0', '\1');
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

GlobHits::GlobHits(const CheckpointHeader& header, const std::vector<std::string>& globs)
    : globs_(globs), used_(globs.size()) {
  if (globs.empty()) return;
  std::vector<const TensorInfo*> missed;
  for (const TensorInfo& tensor : header.tensors) {
    const std::string* hit = nullptr;
    for (std::size_t i = 0; i < globs.size(); ++i) {
      if (!matches(globs[i], tensor.name)) continue;
      used_[i] = true;
      if (hit == nullptr) hit = &globs[i];
    }
    if (hit != nullptr) units_.try_emplace(unit_of(header, tensor.name), hit);
    if (hit == nullptr) missed.push_back(&tensor);
  }
  for (const TensorInfo* tensor : missed) {
    if (units_.count(unit_of(header, tensor->name)) == 0) continue;
    if (more_++ == 0) first_ = tensor->name;
  }
}

const std::string* GlobHits::find(const std::string& unit) const {
  const auto found = units_.find(unit);
  return found == units_.end() ? nullptr : found->second;
}

std::vector<std::string> GlobHits::idle(std::string_view option) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < globs_.size(); ++i) {
    if (!used_[i]) out.push_back(cat(option, " ", quote(globs_[i]), " matches no tensor"));
  }
  return out;
}

std::string GlobHits::spread(std::string_view option) const {
  if (more_ == 0) return {};
  return cat(option, " takes ", more_, more_ == 1 ? " tensor" : " tensors",
             " more than its globs match, ", quote(first_), more_ == 1 ? "" : " the first",
             ": engines make one module of it and of what they match");
}

std::string glob_of(std::string_view name) {
  constexpr std::size_t kLongest = 150;  // quote() shows more
  const auto byte_of = [](char c) { return static_cast<unsigned char>(c); };
  std::string out(name.substr(0, kLongest));
  for (char& c : out) {
    const bool control = byte_of(c) < 0x20 || c == '\x7f';
    if (control || std::string_view("*?[]\\\"$`!").find(c) != std::string_view::npos) c = '?';
  }
  if (out.size() == name.size()) return out;
  while (!out.empty() && byte_of(out.back()) >= 0x80) out.pop_back();  // no part of a character
  return out + "*";
}

}  // namespace diecast
