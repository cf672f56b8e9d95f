// A bare clone is the whole product: nothing in it points outside, and its files keep the limits
// that keep them readable.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <regex>

namespace diecast {
namespace {

// Split in two, so that this file does not match itself.
// clang-format off
const std::string kForeign[] = {
    "DESIGN" ".md", "numerics" ".md", "reliability" ".md", "jit-peers" ".md", "speed-notes" ".md",
    "quantization-" "users", "../" "shared", "shared/" "golden", "shared/" "reference", "/wo" "rk/",
    "/fa" "rm/",
};
// clang-format on

// Every local link of a Markdown text: what stands between "](" and ")", without its anchor. Code
// between fences has none.
std::vector<std::string> links(std::string_view text) {
  std::vector<std::string> out;
  bool fenced = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("```")) fenced = !fenced;
    for (std::size_t at = line.find("]("); !fenced && at != line.npos;
         at = line.find("](", at + 2)) {
      const std::string_view target = line.substr(at + 2, line.find(')', at) - at - 2);
      if (target.find("://") == target.npos && !target.starts_with("#"))
        out.emplace_back(target.substr(0, target.find('#')));
    }
  }
  return out;
}

TEST(Clone, HasOnlyWhatBelongsAtItsTop) {
  const std::vector<std::string> allowed = {"CMakeLists.txt", "src",           "templates",
                                            "cache",          "tests",         "examples",
                                            "README.md",      ".ci",           ".clang-format",
                                            ".clang-tidy",    ".gitignore",    "CMakePresets.json",
                                            "LICENSE",        "pyproject.toml"};
  const auto files = tree::files();
  ASSERT_GT(files.size(), 100u);
  for (const std::string& name : files) {
    const std::string top(split(name, '/')[0]);
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), top), allowed.end()) << name;
  }
}

TEST(Clone, RefersToNothingOutsideItself) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!tree::is_text(name)) continue;
    ++seen;
    const std::string text = tree::text_of(name);
    for (const std::string& foreign : kForeign)
      EXPECT_EQ(text.find(foreign), std::string::npos) << name << " speaks of " << foreign;
  }
  EXPECT_GT(seen, 100u);
}

TEST(Clone, HasNoLinkThatLeadsNowhere) {
  EXPECT_EQ(
      links("a [b](c/d.md#e), ![f](g.png) [h](https://x/y) [i](#j)\n```\n[&](i)\n```\n[k](l)"),
      (std::vector<std::string>{"c/d.md", "g.png", "l"}));
  std::size_t pages = 0;
  for (const std::string& name : tree::files()) {
    if (!name.ends_with(".md")) continue;
    ++pages;
    const auto folder = std::filesystem::path(name).parent_path();
    for (const std::string& link : links(tree::text_of(name))) {
      const auto target = (folder / link).lexically_normal();
      EXPECT_FALSE(target.string().starts_with(".."))
          << name << ": " << link << " leaves the clone";
      EXPECT_TRUE(std::filesystem::exists(tree::kRoot / target)) << name << ": " << link;
    }
  }
  EXPECT_GT(pages, 0u);
}

TEST(Clone, HasAReadmeInEveryFolderOfTheTop) {
  for (const char* folder : {"src", "templates", "cache", "tests", "examples"})
    EXPECT_NE(tree::text_of(std::string(folder) + "/README.md"), "") << folder;
  EXPECT_NE(tree::text_of("README.md"), "");
}

// Variables of the environment, and the macros of a rendered source.
TEST(Clone, SaysWhatEveryNameOfOursIs) {
  const std::string pages = tree::text_of("src/README.md") + tree::text_of("cache/README.md") +
                            tree::text_of("templates/README.md");
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/") || !name.ends_with(".cpp")) continue;
    const std::string text = tree::text_of(name);
    for (std::size_t at = text.find("\"DIECAST_"); at != text.npos;
         at = text.find("\"DIECAST_", at + 1)) {
      const std::size_t end =
          text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at + 1);
      if (text[end] != '"' || text[end - 1] == '_') continue;  // a sentence, a prefix
      ++seen;
      const std::string word = text.substr(at + 1, end - at - 1);
      EXPECT_NE(pages.find("`" + word + "`"), std::string::npos) << name << ": " << word;
    }
  }
  EXPECT_GT(seen, 10u);
}

TEST(Clone, KeepsItsFilesShort) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!tree::is_code(name) && !name.ends_with(".py")) continue;
    ++seen;
    const std::string text = tree::text_of(name);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 300) << name;
  }
  EXPECT_GT(seen, 100u);
}

TEST(Clone, KeepsItsLinesShort) {
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/") && !name.starts_with("tests/")) continue;
    if (!name.ends_with(".h") && !name.ends_with(".cpp")) continue;
    std::size_t number = 0;
    const std::string text = tree::text_of(name);
    for (const std::string_view line : split(text, '\n')) {
      ++number;  // a quoted text may be long: to break it would hide it from a search
      EXPECT_TRUE(line.size() <= 100 || line.find('"') != line.npos) << name << ":" << number;
    }
  }
}

TEST(Clone, FinishesWhatItStarts) {
  const std::string unfinished[] = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X:",
      "HA"
      "CK:"};
  for (const std::string& name : tree::files()) {
    if (!tree::is_code(name) && !name.ends_with(".py")) continue;
    const std::string text = tree::text_of(name);
    for (const std::string& word : unfinished)
      EXPECT_EQ(text.find(word), std::string::npos) << name << ": " << word;
  }
}

TEST(Sources, StartNoShell) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/")) continue;
    ++seen;
    const std::string text = tree::text_of(name);
    for (const std::string call : {"system", "popen", "wordexp"}) {
      for (std::size_t at = text.find(call + "("); at != text.npos;
           at = text.find(call + "(", at + 1))
        EXPECT_TRUE(at > 0 && (std::isalnum(text[at - 1]) || text[at - 1] == '_'))
            << name << " calls " << call;
    }
  }
  EXPECT_GT(seen, 50u);
}

// S-05: environment_variable is deaf in a process that has more rights than its user.
TEST(Sources, ReadTheEnvironmentInOnePlace) {
  std::size_t readers = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/")) continue;
    const bool reads = tree::text_of(name).find("getenv(") != std::string::npos;
    readers += reads;
    EXPECT_EQ(reads, name == "src/diecast/base/text.cpp") << name;
  }
  EXPECT_EQ(readers, 1u);
}

// G-09: a mutex of the whole library is one that a forked child can take (base/fork.h).
TEST(Sources, HaveNoStaticMutexThatAForkLeavesLocked) {
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/") || name.starts_with("src/diecast/tool/")) continue;
    const std::string text = tree::text_of(name);
    for (const char* plain :
         {"static std::mutex", "static std::shared_mutex", "static std::recursive_mutex"})
      EXPECT_EQ(text.find(plain), text.npos) << name;
  }
}

// A static object with a destructor ends before an engine's own that were made earlier and use it
// still; what is needed until the end is behind a reference to `new`.
TEST(Sources, HaveNoStaticObjectThatEndsBeforeItsUsers) {
  const std::regex object(R"(\s*static (const )?([\w:]+(<.*>)?) \w+( =|\{|;|\().*)");
  const std::regex endless("int|bool|std::size_t|locale_t|LongMutex|std::atomic<.*>");
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/") || name.starts_with("src/diecast/tool/")) continue;
    if (!name.ends_with(".cpp")) continue;
    const std::string text = tree::text_of(name);
    for (const std::string_view line : split(text, '\n')) {
      std::cmatch parts;
      if (!std::regex_match(line.data(), line.data() + line.size(), parts, object)) continue;
      if (parts[4] == "(" && !parts[1].matched) continue;  // a function
      ++seen;
      EXPECT_TRUE(std::regex_match(parts[2].str(), endless)) << name << ": " << line;
    }
  }
  EXPECT_GT(seen, 5u);
}

// Enterprise systems build with the kernel headers and the glibc of 2018: 4.18 and 2.28.
TEST(Sources, BuildWithOldHeadersOfTheSystem) {
  std::size_t seen = 0;
  for (const std::string& name : tree::files()) {
    if (!name.starts_with("src/diecast/")) continue;
    ++seen;
    const std::string text = tree::text_of(name);
    for (const char* newer : {"<linux/", "SYS_openat2", "strerrordesc_np", "strerrorname_np",
                              "gettid(", "::close_range", "pidfd_", "_Fork("})
      EXPECT_EQ(text.find(newer), std::string::npos) << name << ": " << newer;
  }
  EXPECT_GT(seen, 50u);
}

TEST(Sources, OpenWithACommentThatSaysWhatTheyAre) {
  for (const std::string& name : tree::files()) {
    if (!tree::ends_with_any(name, {".cpp", ".h", ".cu", ".cmake", "CMakeLists.txt"})) continue;
    if (name.starts_with("tests/template/golden/")) continue;  // data: what the renderer is given
    const std::string text = tree::text_of(name);
    const bool comment =
        text.starts_with("// ") || text.starts_with("# ") || text.starts_with("/* ");
    EXPECT_TRUE(comment) << name;
  }
}

}  // namespace
}  // namespace diecast
