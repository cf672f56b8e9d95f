// The code that a page shows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace diecast::testing {

// The texts between "```cpp" (or another language) and "```" of a page.
inline std::vector<std::string> snippets(const std::string& page,
                                         const std::string& language = "cpp") {
  std::vector<std::string> out;
  const std::string open = "\n```" + language + "\n";
  for (std::size_t at = page.find(open); at != page.npos; at = page.find(open, at + 1)) {
    const std::size_t begin = at + open.size();
    out.push_back(page.substr(begin, page.find("\n```", begin) + 1 - begin));
  }
  return out;
}

}  // namespace diecast::testing
