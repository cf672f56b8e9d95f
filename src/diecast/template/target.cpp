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

// "12.0f" is sm_120f: architectures as PyTorch spells them. Empty: it is no such spelling.
std::string from_torch(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos || dot + 1 == name.size()) return "";
  const std::string_view minor = name.substr(dot + 1, 1), suffix = name.substr(dot + 2);
  const bool known = suffix.empty() || suffix == "a" || suffix == "f";
  if (!known || !parse_integer(name.substr(0, dot)) || !parse_integer(minor)) return "";
  return cat("sm_", name.substr(0, dot), minor, suffix);
}

}  // namespace

std::string Target::name() const {
  if (is_host()) return host_level == 1 ? "host" : cat("host_v", host_level);
  std::string text = cat("sm_", cc);
  if (suffix != 0) text += suffix;
  return text;
}

Result<Target> Target::parse(std::string_view given) {
  const std::string torch = from_torch(given);
  const std::string_view name = torch.empty() ? given : torch;
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
  const auto number = name.starts_with("sm_") ? parse_integer(name.substr(3)) : std::nullopt;
  if (number && *number < kPlain[0])
    return Error{ErrorCode::unknown_target,
                 cat(quote(name, 40), " is older than diecast's first target"),
                 "the first is sm_80"};
  if (name.find(',') != name.npos)
    return Error{ErrorCode::unknown_target, cat(quote(name, 40), " is several targets, not one"),
                 "separate targets by blanks, as in `@ sm_90a sm_100a`"};
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
