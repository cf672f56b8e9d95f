// The targets diecast knows; see target.h.
#include <diecast/base/text.h>
#include <diecast/template/target.h>

#include <algorithm>

namespace diecast {
namespace {

// A family's `f` cubin runs on every member, so it is named after the family's first.
constexpr int kPlain[] = {80, 86, 87, 88, 89};
constexpr int kExact[] = {90, 100, 103, 110, 120, 121};
constexpr int kFamilies[] = {100, 110, 120};

template <std::size_t N>
bool contains(const int (&list)[N], int cc) {
  return std::find(std::begin(list), std::end(list), cc) != std::end(list);
}

Target cuda(int cc, char suffix) { return {Target::Kind::cuda, cc, suffix, 1}; }

int family_of(int cc) { return cc / 10 * 10; }

const std::vector<std::string>& target_names() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all{"host", "host_v3"};
    for (int cc : kPlain) all.push_back(cuda(cc, 0).name());
    for (int cc : kExact) all.push_back(cuda(cc, 'a').name());
    for (int cc : kFamilies) all.push_back(cuda(cc, 'f').name());
    return all;
  }());
  return names;
}

std::string fix_of(int cc) {
  if (contains(kFamilies, cc))
    return cat("write sm_", cc, "a (this architecture alone) or sm_", cc, "f (its family)");
  if (contains(kExact, cc) && contains(kFamilies, family_of(cc)))
    return cat("write sm_", cc, "a (this architecture alone) or sm_", family_of(cc),
               "f (its family)");
  return cat("write sm_", cc, "a");
}

// "12.0f" as PyTorch has it, "120f" as CMake, and "sm120f" are sm_120f; any other word is itself.
std::string usual_name(std::string_view word) {
  std::string text(word.substr(word.starts_with("sm_") ? 3 : word.starts_with("sm") ? 2 : 0));
  const std::size_t dot = text.find('.');
  if (dot != text.npos && dot + 2 == std::min(text.find_first_not_of(".0123456789"), text.size()))
    text.erase(dot, 1);  // "9.0a": before the last digit
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view suffix = std::string_view(text).substr(digits);
  const bool known = suffix.empty() || suffix == "a" || suffix == "f";
  return known && digits > 0 ? cat("sm_", text) : std::string(word);
}

// What to write for a word with an architecture's digits, as "compute_90" and "9.0+PTX"; else
// empty.
std::string fix_by_digits(std::string_view word) {
  std::string digits;
  for (const char c : word)
    if (c >= '0' && c <= '9') digits += c;
  const std::int64_t cc = parse_integer(digits).value_or(0);
  if (std::ranges::count(kPlain, cc) > 0) return cat("write sm_", cc);
  return std::ranges::count(kExact, cc) > 0 ? fix_of(static_cast<int>(cc)) : "";
}

}  // namespace

std::string Target::name() const {
  if (is_host()) return host_level == 1 ? "host" : cat("host_v", host_level);
  std::string text = cat("sm_", cc);
  if (suffix != 0) text += suffix;
  return text;
}

Result<Target> Target::parse(std::string_view given) {
  const std::string name = usual_name(given);
  if (name == "host") return Target{Kind::host, 0, 0, 1};
  if (name == "host_v3") return Target{Kind::host, 0, 0, 3};
  for (int cc : kPlain)
    if (name == cuda(cc, 0).name()) return cuda(cc, 0);
  for (int cc : kExact) {
    if (name == cuda(cc, 'a').name()) return cuda(cc, 'a');
    if (name == cuda(cc, 'f').name() && contains(kFamilies, cc)) return cuda(cc, 'f');
    if (name == cuda(cc, 'f').name() || name == cuda(cc, 0).name())
      return Error{ErrorCode::unknown_target,
                   cat(name, " is not a target: from sm_90 up only exact targets (`a`) and whole ",
                       "families (`f`) exist"),
                   fix_of(cc)};
  }
  const auto number =
      name.starts_with("sm_") ? parse_integer(std::string_view(name).substr(3)) : std::nullopt;
  if (number && *number < kPlain[0])
    return Error{ErrorCode::unknown_target,
                 cat(quote(name, 40), " is older than diecast's first target"),
                 "the first is sm_80"};
  if (name.find(',') != name.npos)
    return Error{ErrorCode::unknown_target, cat(quote(name, 40), " is several targets, not one"),
                 "separate targets by blanks, as in `@ sm_90a sm_100a`"};
  if (std::string fix = fix_by_digits(name); !fix.empty())
    return Error{ErrorCode::unknown_target, cat(quote(name, 40), " is not a target"),
                 std::move(fix)};
  return Error{ErrorCode::unknown_target,
               cat(quote(name, 40), " is not a target", did_you_mean(name, target_names())),
               cat("the targets are ", join(target_names(), ", "))};
}

std::vector<Target> Target::for_device(int cc) {
  std::vector<Target> targets;
  if (contains(kPlain, cc)) targets.push_back(cuda(cc, 0));
  if (contains(kExact, cc)) targets.push_back(cuda(cc, 'a'));
  if (contains(kFamilies, family_of(cc))) targets.push_back(cuda(family_of(cc), 'f'));
  return targets;
}

}  // namespace diecast
