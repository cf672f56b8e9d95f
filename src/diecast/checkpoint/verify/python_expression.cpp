// Escapes, groups and repetitions are what the two write differently; see python_expression.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/python_expression.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace diecast {
namespace {

constexpr std::size_t kMost = 1000;
// glibc writes repetitions out, and for each group that repeats without end and may be empty it
// takes twice as long to read an expression.
constexpr std::size_t kMostWrittenOut = 2000, kMostLoops = 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct ClassEscape {
  char name;
  std::string_view members;  // in brackets
};
constexpr ClassEscape kClasses[] = {{'d', "0-9"}, {'w', "[:alnum:]_"}, {'s', "[:space:]"}};

const ClassEscape* class_escape(char name) {
  const auto found = std::ranges::find(kClasses, name, &ClassEscape::name);
  return found == std::end(kClasses) ? nullptr : found;
}

// Of a part of an expression that is written out: characters, and groups that repeat without end.
struct Part {
  std::size_t size = 0, loops = 0;
  void add(const Part& other, std::size_t times = 1) {
    size += times * other.size;
    loops += times * other.loops;
  }
};

class Translation {
 public:
  explicit Translation(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    if (text_.size() > kMost) return refused("is too long");
    while (!at_end()) DIECAST_CHECK(take());
    if (open_.size() != 1) return refused("has a parenthesis without its partner");
    if (open_[0].size > kMostWrittenOut || open_[0].loops > kMostLoops)
      return refused("repeats too often");
    return std::move(out_);
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  bool takes(std::string_view next) {
    if (!text_.substr(at_).starts_with(next)) return false;
    at_ += next.size();
    return true;
  }
  Error refused(std::string_view why) const {
    return {ErrorCode::not_supported, cat("the expression ", quote(text_, 80), " ", why),
            "write the names of modules with letters, classes, groups and repetitions"};
  }

  Result<void> take() {
    const char c = text_[at_++];
    switch (c) {
      case '\0':
        return refused("has a zero byte");
      case '\\':
        return take_escape();
      case '[':
        return take_brackets();
      case '(':
        return open_group();
      case '*':
      case '+':
      case '?':
        return repeat(std::string(1, c), c != '?');
      case '{':
        return take_braces();
      case ')':
        return close_group();
      case '}':
        return put("\\}", true);
      default:
        return put(std::string(1, c), c != '^' && c != '$' && c != '|');
    }
  }

  // `repeats`: a repetition may follow.
  Result<void> put(std::string_view posix, bool repeats) {
    out_ += posix;
    may_repeat_ = repeats;
    is_group_ = false;
    last_ = {1, 0};
    open_.back().add(last_);
    return {};
  }

  Result<void> open_group() {
    if (takes("?P<")) {
      const std::size_t end = text_.find('>', at_);
      if (end == text_.npos) return refused("has a group whose name does not end");
      at_ = end + 1;
    } else if (!takes("?:") && takes("?")) {
      return refused("has a group of a kind that is not read here");
    }
    DIECAST_CHECK(put("(", false));
    open_.emplace_back();
    return {};
  }

  Result<void> close_group() {
    if (open_.size() == 1) return refused("has a parenthesis without its partner");
    const Part group = open_.back();
    open_.pop_back();
    DIECAST_CHECK(put(")", true));
    open_.back().add(group);
    last_ = group;
    is_group_ = true;
    return {};
  }

  // How little a repetition takes changes nothing of whether there is a match.
  Result<void> repeat(std::string_view posix, bool endless) {
    if (!may_repeat_) return refused("has a repetition of nothing");
    if (endless && is_group_) ++open_.back().loops;
    if (!takes("?") && takes("+")) return refused("has a repetition that gives nothing back");
    return put(posix, false);
  }

  std::optional<std::size_t> take_number() {
    std::optional<std::size_t> out;
    for (; !at_end() && is_digit(text_[at_]); ++at_)
      out = std::min(out.value_or(0) * 10 + static_cast<std::size_t>(text_[at_] - '0'), kMost + 1);
    return out;
  }

  // {2}, {2,}, {,5} or {2,5}; Python takes any other brace as it is.
  Result<void> take_braces() {
    const std::size_t begin = at_;
    const auto least = take_number();
    const bool range = takes(",");
    const auto most = range ? take_number() : least;
    if (!takes("}") || (!range && !least)) {
      at_ = begin;
      return put("\\{", true);
    }
    const std::size_t first = least.value_or(0), last = most.value_or(first);
    if (last < first) return refused("has a repetition of fewer times than of its least");
    open_.back().add(last_, std::max<std::size_t>(last, 1) - 1);
    if (last > kMost || open_.back().size > kMostWrittenOut) return refused("repeats too often");
    return repeat(cat("{", first, range ? "," : "", range && most ? cat(last) : "", "}"),
                  range && !most);
  }

  Result<void> take_escape() {
    if (at_end()) return refused("ends in a backslash");
    const char c = text_[at_++];
    if (const ClassEscape* const found = class_escape(c))
      return put(cat("[", found->members, "]"), true);
    if (const ClassEscape* const found = class_escape(static_cast<char>(c | 32));
        found != nullptr && is_letter(c))
      return put(cat("[^", found->members, "]"), true);
    if (c == 'A') return put("^", false);
    if (c == 'Z') return put("$", false);
    if (c == 'b' || c == 'B') return put(cat("\\", std::string(1, c)), false);
    if (is_letter(c) || is_digit(c) || c == '\0') return refused("has an escape that is not read");
    // POSIX leaves open what a backslash before another character means.
    constexpr std::string_view kSpecial = "\\.[]()*+?{}^$|";
    const bool special = kSpecial.find(c) != kSpecial.npos;
    return put(special ? cat("\\", std::string(1, c)) : std::string(1, c), true);
  }

  // In brackets POSIX has no escapes. What means something there is written as [.x.].
  Result<void> take_brackets() {
    std::string posix = takes("^") ? "[^" : "[";
    for (bool first = true; first || !takes("]"); first = false) {
      if (at_end()) return refused("has a bracket without its partner");
      char c = text_[at_++];
      if (c == '\0') return refused("has a zero byte");
      const bool escaped = c == '\\';
      if (escaped) {
        if (at_end()) return refused("ends in a backslash");
        c = text_[at_++];
        if (const ClassEscape* const found = class_escape(c)) {
          posix += found->members;
          continue;
        }
        if (is_letter(c) || is_digit(c) || c == '\0')
          return refused("has an escape that is not read");
      }
      const bool plain = c != '[' && (!escaped || (c != ']' && c != '-' && c != '^'));
      posix += plain ? std::string(1, c) : cat("[.", std::string(1, c), ".]");
    }
    return put(posix + "]", true);
  }

  const std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
  std::vector<Part> open_{1};  // groups, all of it the first
  Part last_;                  // what a repetition is of
  bool may_repeat_ = false, is_group_ = false;
};

}  // namespace

Result<std::string> posix_expression(std::string_view python) { return Translation(python).run(); }

}  // namespace diecast
