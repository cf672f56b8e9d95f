// Configs as JSON: their order, Python's words, names that stand twice, and very many names.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/config_json.h>
#include <gtest/gtest.h>

namespace diecast::testing {
namespace {

std::string again(std::string_view text) {
  const auto read = parse_config(text);
  return read ? config_text(*read) : "none";
}

TEST(ConfigJson, KeepsTheOrderAndTheWordsOfPython) {
  EXPECT_EQ(again(R"({"b": [1, -2, 0.5, null, true, {}, []], "a": {"z": NaN, "y": -Infinity},)"
                  R"( "word": "NaN \"Infinity"})"),
            R"({
  "b": [
    1,
    -2,
    0.5,
    null,
    true,
    {},
    []
  ],
  "a": {
    "z": NaN,
    "y": -Infinity
  },
  "word": "NaN \"Infinity"
}
)");
}

TEST(ConfigJson, TakesTheLastValueOfANameAsPythonDoes) {
  EXPECT_EQ(parse_config(R"({"a": 1, "b": {"c": 2, "c": [3]}, "a": {"d": 4}, "a": 5})").value(),
            ConfigJson::parse(R"({"a": 5, "b": {"c": [3]}})"));
}

TEST(ConfigJson, IsAnObjectThatIsNotNestedTooDeep) {
  for (const char* text :
       {"", "[]", "[{}]", "1", "null", "{", "{}}", R"({"a": })", R"({"a": 1e999})"})
    EXPECT_FALSE(parse_config(text)) << text;
  const auto nested = [](int levels) {
    std::string deep, end;
    for (int i = 0; i < levels; ++i) {
      deep += i % 2 == 0 ? "{\"a\":" : "[";
      end += (levels - i) % 2 == 1 ? "}" : "]";
    }
    return deep + "1" + end;
  };
  EXPECT_TRUE(parse_config(nested(9)));
  EXPECT_FALSE(parse_config(nested(99999)));
}

// As many modules as a large mixture of experts has in two formats. Where an object looks through
// its names for each new one, the time grows with their square.
TEST(ConfigJson, HoldsVeryManyNames) {
  std::string text = "{";
  for (int i = 0; i < 60000; ++i) text += cat(i == 0 ? "" : ",", "\"", i, "\": {\"of\": NaN}");
  const auto read = parse_config(text + "}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size(), 60000u);
  EXPECT_NE(config_text(*read).find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace diecast::testing
