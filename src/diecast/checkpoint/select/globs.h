// The user's globs over tensor names, and what they hit of modules that stay whole.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// The glob of a list that hits a tensor or another one of its unit (families.h).
class GlobHits {
 public:
  GlobHits(const CheckpointHeader& header, const std::vector<std::string>& globs);

  const std::string* find(const std::string& unit) const;  // null: none hits

  // "--exclude "GLOB" matches no tensor", for each that does not.
  std::vector<std::string> idle(std::string_view option) const;

  // One sentence if the globs hit parts of units only, which they take whole; else empty.
  std::string spread(std::string_view option) const;

 private:
  const std::vector<std::string>& globs_;
  std::vector<bool> used_;
  std::map<std::string, const std::string*> units_;
  std::size_t more_ = 0;  // tensors that no glob matches, of units that one hits
  std::string first_;     // of these
};

}  // namespace diecast
