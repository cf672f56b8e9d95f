// The oracle of what a compiler may not read: a file that is not there, then has one content, then
// another. An outcome that differs has seen it.
#pragma once

#include <diecast/base/text.h>
#include <diecast/compile/compiler.h>

#include <filesystem>
#include <functional>
#include <string>

#include "temporary_directory.h"

namespace diecast::testing {

class OutsideFile {
 public:
  std::string path() const { return folder_ / "x.h"; }

  // Whether an outcome depends on the file.
  bool decides(const std::function<std::string()>& outcome) const {
    std::filesystem::remove(path());
    const std::string without = outcome();
    for (const char* text : {"#define ORACLE 1\n", "#define ORACLE 2\n"}) {
      write_text(path(), text);
      if (outcome() != without) return true;
    }
    return false;
  }

 private:
  TemporaryDirectory folder_;
};

// All that the cache could keep of a compile: nothing of a refusal.
inline std::string outcome_of(Compiler& compiler, const Source& source, const Target& target) {
  const auto made = compiler.compile(source, target);
  if (!made) return "refused";
  return cat(
      made->log, "\n",
      std::string_view(reinterpret_cast<const char*>(made->payload.data()), made->payload.size()));
}

}  // namespace diecast::testing
