// Lists of modules as compressed-tensors writes them: each expression with what Python's re.match
// says of a name.
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/name_patterns.h>
#include <diecast/checkpoint/verify/python_expression.h>
#include <gtest/gtest.h>

#include <string>

namespace diecast::testing {
namespace {

const std::string kName = "model.layers.12.mlp.experts.3.up_proj";

bool matches(const std::string& entry, const std::string& name = kName) {
  NamePatterns patterns;
  const auto added = patterns.add(entry);
  EXPECT_TRUE(added) << added.error().message();
  return patterns.match(name);
}

TEST(NamePatterns, MatchAsPythonDoes) {
  for (const char* entry :
       {"model.layers.12.mlp.experts.3.up_proj", R"(re:model\.layers\.\d+\.mlp)",
        R"(re:.*experts\.\d\.)", R"(re:[\w.]+$)", R"(re:\w+\.layers\.[^\d.]*\d{2}\.)",
        R"(re:model[\.]layers[.]1\d\D)", R"(re:(?:.*\.)??mlp\.(?P<part>\S+)$)", "re:.*up_proj$",
        R"(re:model.layers.(1|2|12)\.)", R"(re:\Amodel.*\bup_proj\Z)", R"(re:mo{,2}del)",
        R"(re:.+?\.\d\W)", R"(re:[]\]a-z\-\^.]+\.1)", "re:"})
    EXPECT_TRUE(matches(entry)) << entry;
  for (const char* entry :
       {"model.layers.12.mlp.experts.3", "re:layers", R"(re:model\.layers\.\d\.)", "re:d+",
        R"(re:model\d)", R"(re:model\\.layers)", R"(re:.*\.\D\.)", R"(re:[\d.]+)", "re:mo{3}del",
        R"(re:.*up_proj\.)", "re:m{o}"})
    EXPECT_FALSE(matches(entry)) << entry;
  EXPECT_TRUE(matches("re:a{b}", "a{b}"));
  EXPECT_TRUE(matches(R"(re:[[\\]+$)", R"([\[)"));
  EXPECT_TRUE(matches(R"(re:[\^]$)", "^"));
}

TEST(NamePatterns, RefuseWhatIsNoExpressionOrNotRead) {
  for (const char* entry : {"(",
                            ")",
                            "a)(b",
                            "[",
                            "[a",
                            "*",
                            "a**",
                            "(|*)",
                            "^*",
                            "\\",
                            "a[\\",
                            "[z-a]",
                            "a{3,2}",
                            "(?!a)",
                            "(?<=a)b",
                            "(?i)a",
                            "a++",
                            R"(a(b)\1)",
                            R"(\q)",
                            R"(\x41)",
                            R"([\D])",
                            "a{1001}",
                            "(((a{20}){20}){20})",
                            "(a?b?c?d?){500}",
                            "((a*)*){11}"}) {
    NamePatterns patterns;
    const auto added = patterns.add(cat("re:", entry));
    ASSERT_FALSE(added) << entry;
    EXPECT_EQ(added.error().code, ErrorCode::not_supported);
    EXPECT_FALSE(patterns.match(kName));
  }
  EXPECT_EQ(posix_expression("a**").error().message(),
            "diecast: not_supported: the expression \"a**\" has a repetition of nothing\n"
            "  fix: write the names of modules with letters, classes, groups and repetitions");
  EXPECT_FALSE(posix_expression(std::string(1001, 'a')));
  EXPECT_FALSE(posix_expression(std::string("a\0b", 3)));
}

// A search that goes back for each choice would never end here.
TEST(NamePatterns, TakeNoLongerForNestedRepetitions) {
  EXPECT_FALSE(matches("re:(a*)*(a|aa)+(a+)+b$", std::string(2000, 'a')));
}

// Of a group that may be empty, each repetition without end makes glibc read twice as long.
TEST(NamePatterns, AreReadInNoTime) {
  const auto repeated = [](std::string_view part, int times) {
    std::string out = "re:";
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  for (const char* loop : {"(a?.*)*", "(a?)+", "(a|b*){2,}", "(?:a*)*?"}) {
    EXPECT_TRUE(matches(repeated(loop, 5))) << loop;
    NamePatterns patterns;
    EXPECT_EQ(patterns.add(repeated(loop, 60)).error().code, ErrorCode::not_supported) << loop;
  }
  EXPECT_TRUE(matches(repeated(R"(\w{0,20}\W?)", 40)));
  EXPECT_TRUE(matches(repeated("(a*)?", 60)));
}

}  // namespace
}  // namespace diecast::testing
