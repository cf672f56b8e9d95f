// Damaged templates and spellings: thousands of seeded mutations end in a value or in an error with
// a fix, never in a crash. (The sanitizer build runs this too.)
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <random>

#include "how_many.h"

namespace diecast {
namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t i = 0, count = 1 + below(3); i < count && !text.empty(); ++i) {
      const std::size_t at = below(text.size()), length = 1 + below(12);
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), length));
          break;
        case 3:
          text.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        case 4:
          text.resize(at);
          break;
        default:
          std::swap(text[at], text[below(text.size())]);
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  static constexpr const char* kPieces[] = {"(",
                                            ")",
                                            "[",
                                            "{",
                                            "}",
                                            "=",
                                            ",",
                                            "-",
                                            "*/",
                                            "/* diecast\n",
                                            "\n",
                                            "\r",
                                            "\t",
                                            "//",
                                            "require ",
                                            "arg ",
                                            "9223372036854775807",
                                            "-9223372036854775808",
                                            "bits(",
                                            " ? ",
                                            " : ",
                                            "1 / 0",
                                            "% 0",
                                            "COLS",
                                            "let HALF = COLS / 2\n",
                                            " in {",
                                            "s128x4",
                                            "use <diecast/device/order.h>\n",
                                            "cols",
                                            "align 0",
                                            "sm_90a",
                                            "DIECAST_KERNEL",
                                            "#include <",
                                            "R\"(",
                                            "'",
                                            "\\\n",
                                            "\xff"};
  std::mt19937_64 random_;
};

// Whatever parses is bound and rendered too.
void use(const std::string& text) {
  const auto tmpl = Template::parse("scale_rows", text, golden_files());
  if (!tmpl) {
    ASSERT_FALSE(tmpl.error().what.empty());
    ASSERT_FALSE(tmpl.error().fix.empty()) << tmpl.error().message();
    ASSERT_LT(tmpl.error().what.size(), 2000u);
    return;
  }
  for (const char* on : {"host", "sm_90a"}) {
    Bindings bindings = Bindings().set("COLS", 4100).set("IN", "bf16");
    auto made = Specialization::make(*tmpl, bindings, target(on));
    if (!made) made = Specialization::make(*tmpl, bindings.set("COLS", 4096), target(on));
    if (!made) {
      ASSERT_FALSE(made.error().fix.empty()) << made.error().message();
      continue;
    }
    const auto source = render(*made, golden_files());
    ASSERT_TRUE(source.ok() || !source.error().fix.empty()) << source.error().message();
    ASSERT_TRUE(parse_spelling(made->spelling()).ok()) << made->spelling();
  }
}

TEST(Template, MutatedTextsEndInAValueOrAnError) {
  Mutator mutator(7);
  int parsed = 0;
  const int mutations = testing::unless_sanitized(6000);
  for (int i = 0; i < mutations; ++i) {
    const std::string text = mutator.mutate(scale_rows_text());
    parsed += Template::parse("scale_rows", text).ok();
    ASSERT_NO_FATAL_FAILURE(use(text)) << "mutation " << i << "\n" << text;
  }
  EXPECT_GT(parsed, mutations / 20)
      << "the mutations are too wild to reach what comes after the parser";
  EXPECT_LT(parsed, mutations / 20 * 19) << "the mutations are too tame";
}

TEST(Template, EveryTruncationEndsInAValueOrAnError) {
  for (std::size_t length = 0; length < scale_rows_text().size(); length += 3)
    ASSERT_NO_FATAL_FAILURE(use(scale_rows_text().substr(0, length))) << length;
}

TEST(Spelling, MutatedOnesEndInAValueOrAnError) {
  Mutator mutator(11);
  const std::string spelling = "scale_rows COLS=4096,5120 IN=* LAYOUT=s128x4 @ sm_90a host";
  for (int i = 0; i < 20'000; ++i) {
    const auto parsed = parse_spelling(mutator.mutate(spelling));
    ASSERT_TRUE(parsed.ok() || !parsed.error().fix.empty()) << parsed.error().message();
  }
}

TEST(Template, AHugeHeaderIsReadInTime) {
  std::string text = "/* diecast\n";
  for (int i = 0; i < 2000; ++i) text += "option int N" + std::to_string(i) + " = 1 // comment\n";
  for (int i = 0; i < 2000; ++i) text += "require N" + std::to_string(i) + " == 1\n";
  const auto tmpl = Template::parse("k", text + "launch grid(1) block(1)\n*/\nDIECAST_KERNEL {}\n");
  ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
  EXPECT_TRUE(Specialization::make(*tmpl, {}, target("host")).ok());
}

}  // namespace
}  // namespace diecast
