// Greedy pair covering; see covering.h.
#include "ops/covering.h"

#include <diecast/base/text.h>

#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

namespace diecast::variants {
namespace {

using Pair = std::pair<std::string, std::string>;

std::vector<Pair> pairs_of(const Bindings& bindings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : bindings.entries())
    words.push_back(cat(name, '=', value.spelling()));
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = i + 1; j < words.size(); ++j) pairs.emplace_back(words[i], words[j]);
  }
  return pairs;
}

}  // namespace

bool all_variants_wanted() {
  const char* wanted = std::getenv("DIECAST_TEST_VARIANTS");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

std::vector<Bindings> covering_set(const std::vector<Bindings>& space) {
  std::set<Pair> open;
  for (const Bindings& bindings : space) {
    for (Pair& pair : pairs_of(bindings)) open.insert(std::move(pair));
  }
  std::vector<Bindings> chosen;
  while (!open.empty()) {
    const Bindings* best = nullptr;
    std::size_t best_new = 0;
    for (const Bindings& bindings : space) {
      std::size_t fresh = 0;
      for (const Pair& pair : pairs_of(bindings)) fresh += open.count(pair);
      if (fresh > best_new) {
        best = &bindings;
        best_new = fresh;
      }
    }
    chosen.push_back(*best);
    for (const Pair& pair : pairs_of(*best)) open.erase(pair);
  }
  return chosen;
}

std::vector<Bindings> wanted_variants(const Template& tmpl, const Target& target) {
  auto space = tmpl.space(target).value();
  return all_variants_wanted() ? space : covering_set(space);
}

}  // namespace diecast::variants
