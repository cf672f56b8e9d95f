// The header's text: encoding, grammar, nesting, names and fields given twice.
#include <checkpoint/safetensors_fixture.h>

namespace diecast::testing {
namespace {

TEST_F(SafetensorsReader, ST05_TextThatIsNotUtf8IsAnError) {
  const auto name = [&](const std::string& text) {
    return fault(file_of("{\"" + text + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  };
  EXPECT_NE(name("\xFF"), "");
  EXPECT_NE(name("\xC0\xAF"), "") << "overlong";
  EXPECT_NE(name("\xE0\x80\xAF"), "") << "overlong";
  EXPECT_NE(name("\xED\xA0\x80"), "") << "a surrogate as UTF-8";
  EXPECT_NE(name("\\ud800"), "") << "a lone surrogate escape";
  EXPECT_NE(name("\\udc00\\ud800"), "") << "surrogates the wrong way round";
  EXPECT_EQ(fault(file_of("\xEF\xBB\xBF{}")), "the header does not begin with {");
  EXPECT_EQ(name(std::string("a\0b", 3)), "the header holds a NUL byte");
  EXPECT_EQ(name("a\\u0000b"), "");
  EXPECT_EQ(name("\\ud83d\\ude00"), "");
}

TEST_F(SafetensorsReader, ST05_NamesWithNulAreWholeNames) {
  const auto reader =
      open(file_of(R"({"a\u0000b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  ASSERT_TRUE(reader);
  EXPECT_NE(reader->header().find(std::string_view("a\0b", 3)), nullptr);
  EXPECT_EQ(reader->header().find("a"), nullptr);
}

TEST_F(SafetensorsReader, ST06_WhatIsNoJsonObjectIsAnError) {
  for (const char* text : {"[]", "\"a\"", "1", "null", "// {}"}) {
    EXPECT_EQ(fault(file_of(text)), "the header does not begin with {") << text;
  }
  for (const char* text :
       {"{}x", "{}{}", "{/* */}", "{},", "{'a':1}", "{\"a\":}", "{a:1}", "{}]"}) {
    EXPECT_NE(fault(file_of(text)).find("the header is not JSON at byte"), std::string::npos)
        << text;
  }
  EXPECT_NE(fault(file_of("{" + kOne + ",}", kData)).find("the header is not JSON at byte"),
            std::string::npos);
}

TEST_F(SafetensorsReader, ST07_TheObjectBeginsTheHeaderAndIsPaddedWithSpacesAlone) {
  EXPECT_EQ(fault(file_of("{\n" + kOne + "\t}   ", kData)), "");
  for (const char* space : {" ", "\t", "\r", "\n"}) {
    EXPECT_EQ(fault(file_of(space + ("{" + kOne + "}"), kData)),
              "the header does not begin with {");
  }
  for (const char* padding : {"\t", "\r", "\n", " \n  ", "\n "}) {
    EXPECT_EQ(fault(file_of("{" + kOne + "}" + padding, kData)),
              "the header is padded with other than spaces");
  }
  EXPECT_EQ(fault(file_of("{" + kOne + "}" + std::string(3, '\0'), kData)),
            "the header holds a NUL byte");
}

// As the reference reader has it.
TEST_F(SafetensorsReader, ST10_MetadataThatIsNullIsNone) {
  const auto reader = open(file_of(R"({"__metadata__":null,)" + kOne + "}", kData));
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_TRUE(reader->header().metadata.empty());
  EXPECT_EQ(fault(file_of(R"({"__metadata__":null,"__metadata__":{},)" + kOne + "}", kData)),
            "header entry \"__metadata__\": the entry is given twice");
  EXPECT_EQ(fault(file_of(R"({"a":null})")), "header entry \"a\": null is not allowed here");
}

TEST_F(SafetensorsReader, ST08_DeepNestingEndsAtALimit) {
  const auto nested = [&](std::size_t depth, const std::string& open, const std::string& close) {
    std::string inner;
    for (std::size_t i = 0; i < depth; ++i) inner += open;
    inner += "0";
    for (std::size_t i = 0; i < depth; ++i) inner += close;
    return fault(
        file_of(R"({"a":{"extra":)" + inner + R"(,"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                kData));
  };
  EXPECT_EQ(nested(62, "[", "]"), "");
  EXPECT_EQ(nested(62, "{\"x\":", "}"), "");
  for (const std::size_t depth : {63u, 129u, 1'000'000u}) {
    EXPECT_EQ(nested(depth, "[", "]"), "the header nests deeper than 64 levels") << depth;
    EXPECT_EQ(nested(depth, "{\"x\":", "}"), "the header nests deeper than 64 levels") << depth;
  }
}

TEST_F(SafetensorsReader, ST09_DuplicateNameIsAnError) {
  const std::string empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(fault(file_of("{\"a\":" + empty + ",\"b\":" + empty + ",\"a\":" + empty + "}")),
            "tensor \"a\" is in the header twice");
  EXPECT_EQ(fault(file_of("{\"a\":" + empty + ",\"\\u0061\":" + empty + "}")),
            "tensor \"a\" is in the header twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{},"__metadata__":{}})")),
            "header entry \"__metadata__\": the entry is given twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{},"__metadat\u0061__":{}})")),
            "header entry \"__metadata__\": the entry is given twice");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"k":"1","\u006b":"2"}})")),
            "header entry \"k\": a metadata entry is given twice");
}

TEST_F(SafetensorsReader, ST09_DuplicateFieldIsAnError) {
  for (const std::string field : {R"("dtype":"U8")", R"("shape":[8])", R"("data_offsets":[0,8])"}) {
    const std::string key = field.substr(1, field.find('"', 1) - 1);
    EXPECT_EQ(fault(file_of(
                  R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],)" + field + "}}", kData)),
              "tensor \"a\", " + key + ": the field is given twice");
  }
}

TEST_F(SafetensorsReader, ST10_MetadataIsAnObjectOfStrings) {
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":"b","c":""}})")), "");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":[]})")),
            "header entry \"__metadata__\": an array is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":1}})")),
            "header entry \"a\": a number is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":{"b":"c"}}})")),
            "header entry \"a\": an object is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"__metadata__":{"a":["c"]}})")),
            "header entry \"a\": an array is not allowed here");
  std::string many = R"({"__metadata__":{"k":"")";
  for (int i = 0; i < 1'000'000; ++i) many += ",\"" + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(fault(file_of(many + "}}")), "more than 100000 metadata entries");
}

TEST_F(SafetensorsReader, ST11_TensorNeedsItsThreeFields) {
  EXPECT_EQ(fault(file_of(R"({"a":1})")), "header entry \"a\": a number is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":null})")), "header entry \"a\": null is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":[]})")), "header entry \"a\": an array is not allowed here");
  EXPECT_EQ(fault(file_of(R"({"a":{}})")), "tensor \"a\" has no dtype");
  EXPECT_EQ(fault(file_of(R"({"a":{"dtype":"U8"}})")), "tensor \"a\" has no shape");
  EXPECT_EQ(fault(file_of(R"({"a":{"dtype":"U8","shape":[]}})")),
            "tensor \"a\" has no data_offsets");
  EXPECT_EQ(tensor_fault("8", "[8]", "[0,8]"), "tensor \"a\", dtype: a number is not allowed here");
  EXPECT_EQ(tensor_fault("[\"U8\"]", "[8]", "[0,8]"),
            "tensor \"a\", dtype: an array is not allowed here");
  EXPECT_EQ(tensor_fault("{}", "[8]", "[0,8]"),
            "tensor \"a\", dtype: an object is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "8", "[0,8]"),
            "tensor \"a\", shape: a number is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "{}", "[0,8]"),
            "tensor \"a\", shape: an object is not allowed here");
  EXPECT_EQ(tensor_fault("\"U8\"", "[8]", "null"),
            "tensor \"a\", data_offsets: null is not allowed here");
}

TEST_F(SafetensorsReader, ST11_UnknownFieldIsIgnoredUnlessStrict) {
  const std::string bytes = file_of(R"({"a":{"x":{"y":[1,-2,3.5,null,true,{"dtype":"?"}]},)"
                                    R"("dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                                    kData);
  EXPECT_EQ(fault(bytes), "");
  EXPECT_EQ(fault(bytes, true), "tensor \"a\": unknown field \"x\"");
}

// Headers with bytes changed, cut out or doubled: whatever is still accepted must cover its data
// without a hole and say nothing that another JSON reader does not see.
TEST_F(SafetensorsReader, AcceptedMutantsHoldTheInvariants) {
  const std::string seed =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("b":{"dtype":"U8","shape":[4],"data_offsets":[12,16]},)"
      R"("e":{"dtype":"F32","shape":[0],"data_offsets":[16,16]}})";
  const std::string alphabet = "{}[]\":,\\0123456789abkvu. -+eE\x00\xFF";
  std::uint64_t state = 1;
  const auto random = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seed;
    for (std::size_t changes = 1 + random(3); changes > 0; --changes) {
      const std::size_t at = random(text.size());
      const std::size_t kind = random(3);
      if (kind == 0) text[at] = alphabet[random(alphabet.size())];
      if (kind == 1) text.erase(at, 1 + random(4));
      if (kind == 2) text.insert(at, text.substr(random(text.size()), 1 + random(60)));
    }
    const auto header = parse_header(text, 8 + text.size() + 16, "mutant");
    ++(header ? accepted : refused);
    if (!header) continue;
    std::uint64_t end = 0;
    const auto json = nlohmann::json::parse(text);
    for (const TensorInfo& tensor : header->tensors) {
      EXPECT_EQ(tensor.begin, end) << text;
      end = tensor.end;
      const auto& entry = json.at(tensor.name);
      EXPECT_EQ(entry.at("shape").get<std::vector<std::uint64_t>>(), tensor.shape) << text;
      EXPECT_EQ(entry.at("data_offsets").at(1).get<std::uint64_t>(), tensor.end) << text;
      EXPECT_EQ(entry.at("dtype").get<std::string>(), stored_dtype_name(tensor.dtype)) << text;
    }
    EXPECT_EQ(end, 16u) << text;
    EXPECT_EQ(json.size() - json.count("__metadata__"), header->tensors.size()) << text;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace diecast::testing
