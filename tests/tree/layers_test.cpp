// The floors are true: an include points to its own floor or down, and what a floor may know of the
// world outside is listed here.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <map>
#include <set>

namespace diecast {
namespace {

const std::vector<std::string> kFloors = {"base",    "template", "compile",    "cache", "launch",
                                          "runtime", "ops",      "checkpoint", "c",     "tool"};
constexpr int kApi = 6;  // diecast/diecast.h gathers the library's public floors

// The number of a floor; -1 if there is none of that name.
int floor_number(std::string_view name) {
  const auto found = std::find(kFloors.begin(), kFloors.end(), name);
  return found == kFloors.end() ? -1 : static_cast<int>(found - kFloors.begin());
}

// "diecast/cache/entry.h" -> 3; a file of no floor is the API's, but for the C interface's header.
int floor_of(std::string_view path) {
  if (path == "diecast/c.h") return floor_number("c");
  const auto parts = split(path, '/');
  return parts.size() < 3 ? kApi : floor_number(parts[1]);
}

// What a text includes, with its brackets: "<diecast/base/error.h>".
std::vector<std::string> includes(std::string_view text) {
  std::vector<std::string> out;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.starts_with("#")) continue;
    line = trim(line.substr(1));
    if (line.starts_with("include")) out.emplace_back(words(trim(line.substr(7)))[0]);
  }
  return out;
}

// What is wrong with the includes of one file of src/, one line each.
std::vector<std::string> faults(const std::string& path, std::string_view text) {
  std::vector<std::string> out;
  const int floor = floor_of(path);
  if (floor < 0) out.push_back(path + ": its folder is no floor");
  for (const std::string& include : includes(text)) {
    const std::string_view name = std::string_view(include).substr(1, include.size() - 2);
    if (!include.starts_with("<"))
      out.push_back(path + ": " + include + " should be <diecast/floor/file.h>");
    else if (name.starts_with("diecast/") && floor_of(name) < 0)
      out.push_back(path + ": " + include + " is of no floor");
    else if (name.starts_with("diecast/") && floor_of(name) > floor)
      out.push_back(path + ": " + include + " points up");
  }
  return out;
}

std::vector<std::string> sources() {
  std::vector<std::string> out;
  for (const std::string& name : tree::files())
    if (name.starts_with("src/diecast/") && tree::ends_with_any(name, {".cpp", ".h"}))
      out.push_back(name);
  return out;
}

TEST(Layers, ShowAnIncludeThatPointsUp) {
  const auto found = [](const std::string& path, const std::string& text) {
    return join(faults(path, text), "; ");
  };
  EXPECT_EQ(found("diecast/cache/entry.cpp",
                  "#include <diecast/cache/entry.h>\n#include <diecast/base/error.h>\n"
                  "#include <vector>\n"),
            "");
  EXPECT_EQ(found("diecast/cache/entry.cpp", " #  include <diecast/launch/device.h>  // why\n"),
            "diecast/cache/entry.cpp: <diecast/launch/device.h> points up");
  EXPECT_EQ(found("diecast/base/x.h", "#include <diecast/utils/x.h>"),
            "diecast/base/x.h: <diecast/utils/x.h> is of no floor");
  EXPECT_EQ(found("diecast/base/x.h", "#include \"../tool/x.h\""),
            "diecast/base/x.h: \"../tool/x.h\" should be <diecast/floor/file.h>");
  EXPECT_EQ(found("diecast/utils/x.h", ""), "diecast/utils/x.h: its folder is no floor");
  EXPECT_EQ(found("diecast/diecast.h", "#include <diecast/tool/x.h>"),
            "diecast/diecast.h: <diecast/tool/x.h> points up");
  EXPECT_EQ(found("diecast/base/x.h", "#include <diecast/diecast.h>"),
            "diecast/base/x.h: <diecast/diecast.h> points up");
}

TEST(Layers, HoldForEveryFileOfEveryFloor) {
  std::map<std::string, int> files_of_floor;
  std::size_t includes_seen = 0;
  for (const std::string& name : sources()) {
    const std::string text = tree::text_of(name);
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_EQ(join(faults(name.substr(4), text), "\n"), "");
    ++files_of_floor[std::string(split(name, '/')[2])];
    for (const std::string& include : includes(text))
      includes_seen += include.starts_with("<diecast");
  }
  for (const std::string& floor : kFloors)
    EXPECT_GT(files_of_floor[floor], 0) << "no file of " << floor << " was seen";
  EXPECT_GT(includes_seen, 100u);
}

TEST(Layers, HoldForTheTestsToo) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    const auto parts = split(name, '/');
    if (parts.size() < 3 || parts[0] != "tests" || floor_number(parts[1]) < 0) continue;
    ++seen;
    for (const std::string& include : includes(tree::text_of(name)))
      if (include.starts_with("<diecast/")) {
        EXPECT_LE(floor_of(include.substr(1)), floor_number(parts[1])) << name << ": " << include;
      }
  }
  EXPECT_GT(seen, 20u);
}

TEST(Layers, KeepEachForeignLibraryOnTheFloorsThatMayKnowIt) {
  const std::pair<std::string, std::set<std::string_view>> allowed[] = {
      {"<xxhash", {"base"}}, {"<boost/", {"launch"}}, {"<nlohmann/", {"checkpoint", "c", "tool"}},
      {"<CLI/", {"tool"}},   {"<cuda", {}},  // its functions are declared by diecast
      {"<nvrtc", {}},
  };
  std::size_t seen = 0;
  for (const std::string& name : sources())
    for (const std::string& include : includes(tree::text_of(name)))
      for (const auto& [start, floors] : allowed)
        if (include.starts_with(start)) {
          ++seen;
          EXPECT_TRUE(floors.contains(split(name, '/')[2])) << name << ": " << include;
        }
  EXPECT_GT(seen, 0u);
}

TEST(Layers, LetTemplatesIncludeDeviceHeadersOnly) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("templates/") || !tree::ends_with_any(name, {".cu", ".h"})) continue;
    ++seen;
    for (const std::string& include : includes(tree::text_of(name)))
      EXPECT_TRUE(include.starts_with("<diecast/device/")) << name << ": " << include;
  }
  EXPECT_GT(seen, 5u);
}

}  // namespace
}  // namespace diecast
