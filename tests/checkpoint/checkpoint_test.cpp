// Checkpoints of several files: what is opened, and what of an index is refused.
#include <checkpoint/sharded_fixture.h>
#include <environment_variable.h>

namespace diecast::testing {
namespace {

class CheckpointFiles : public ::testing::Test {
 protected:
  std::string refused(const std::string& path) {
    const auto opened = Checkpoint::open(path);
    std::string text = opened ? "opened" : opened.error().message();
    for (std::size_t at = 0; (at = text.find(folder_.path(), at)) != text.npos;)
      text.replace(at, folder_.path().size(), "F");
    return text;
  }
  // An index of this text beside the two files.
  std::string refused_index(const std::string& text) {
    write_text(index_, text);
    return refused(index_);
  }

  TemporaryDirectory folder_;
  const Shards shards_ = {{"a.safetensors", {{{"x", floats({2}, {1, 2})}}, {}}},
                          {"b.safetensors", {{{"y", floats({1}, {3})}}, {}}}};
  const std::string index_ = write_shards(folder_.path(), shards_);
};

TEST_F(CheckpointFiles, ST20_TensorsOfAllFilesAreReadByTheirNames) {
  for (const std::string& path : {index_, folder_.path(), folder_.path() + "/"}) {
    const auto opened = Checkpoint::open(path).value();
    EXPECT_TRUE(opened.in_folder());
    EXPECT_EQ(opened.names(), (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
    EXPECT_EQ(opened.header().data_bytes, 12u);
    float value = 0;
    const TensorInfo* y = opened.header().find("y");
    ASSERT_NE(y, nullptr);
    ASSERT_TRUE(opened.read(*y, 0, std::as_writable_bytes(std::span(&value, 1))));
    EXPECT_EQ(value, 3);
    EXPECT_EQ(opened.header().find("z"), nullptr);
  }
}

TEST_F(CheckpointFiles, AFolderOfOneFileIsThatFile) {
  std::filesystem::remove(index_);
  std::filesystem::rename(folder_ / "a.safetensors", folder_ / "model.safetensors");
  const auto opened = Checkpoint::open(folder_.path()).value();
  EXPECT_TRUE(opened.in_folder());
  EXPECT_FALSE(opened.index());
  EXPECT_NE(opened.header().find("x"), nullptr);
  EXPECT_FALSE(Checkpoint::open(folder_ / "model.safetensors").value().in_folder());
}

TEST_F(CheckpointFiles, AFolderThatDoesNotSayWhichIsRefused) {
  write_text(folder_ / "model.safetensors", "");
  EXPECT_EQ(refused(folder_.path()),
            "diecast: invalid_argument: the folder \"F\" has both model.safetensors and "
            "model.safetensors.index.json\n"
            "  fix: give the path of the one you mean");
  std::filesystem::create_directory(folder_ / "none");
  for (const char* end : {"", "/", "//"})
    EXPECT_EQ(refused((folder_ / "none") + end),
              "diecast: file_not_found: the folder \"F/none\" has neither model.safetensors nor "
              "model.safetensors.index.json\n"
              "  fix: give the path of a .safetensors file or of the index of several");
}

// What people have in place of a checkpoint, and what they are told.
TEST_F(CheckpointFiles, AFolderOfSomethingElseIsNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"pytorch_model.bin", "has \"pytorch_model.bin\" and no .safetensors file"},
      {"consolidated.00.pth", "has \"consolidated.00.pth\" and no .safetensors file"},
      {"consolidated.safetensors", "has only \"consolidated.safetensors\", Mistral's own format"},
      {"consolidated.safetensors.index.json",
       "has only \"consolidated.safetensors.index.json\", Mistral's own format"},
      {"adapter_config.json", "has an adapter (LoRA), not a model"},
      {"model_index.json", "has a pipeline of several models"}};
  for (const auto& [name, what] : cases) {
    const TemporaryDirectory other;
    write_text(other / name, "{}");
    const auto opened = Checkpoint::open(other.path());
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::not_supported) << name;
    EXPECT_NE(opened.error().message().find(what), std::string::npos) << opened.error().message();
    EXPECT_NE(opened.error().message().find("\n  fix: "), std::string::npos);
  }
}

TEST_F(CheckpointFiles, TheOneFileOrIndexOfAFolderIsTakenWhateverItsName) {
  const auto names = [](const std::string& folder) { return Checkpoint::open(folder)->names(); };
  const std::string odd = folder_ / "diffusion_pytorch_model.safetensors.index.json";
  std::filesystem::rename(index_, odd);
  EXPECT_EQ(names(folder_.path()), (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  std::filesystem::remove(odd);
  EXPECT_EQ(refused(folder_.path()),
            "diecast: invalid_argument: the folder \"F\" has 2 checkpoints, such as "
            "\"a.safetensors\" and \"b.safetensors\"\n  fix: give the path of the one you mean");
  std::filesystem::remove(folder_ / "b.safetensors");
  EXPECT_EQ(names(folder_.path()), std::vector<std::string>{"a.safetensors"});
}

TEST_F(CheckpointFiles, AnIndexWhoseFilesAreGoneGivesWayToTheOneFile) {
  std::filesystem::rename(folder_ / "a.safetensors", folder_ / "model.safetensors");
  std::filesystem::remove(folder_ / "b.safetensors");
  EXPECT_EQ(Checkpoint::open(folder_.path())->names(),
            std::vector<std::string>{"model.safetensors"});
}

// As the hub's client lays it out; a path that is there is stronger than such a name.
TEST_F(CheckpointFiles, AModelOfTheLocalCacheIsFoundByItsName) {
  const std::string top = folder_ / "hub/models--org--name", snapshot = top + "/snapshots/12ab";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(top + "/refs");
  write_text(top + "/refs/main", "12ab");
  std::filesystem::copy(folder_ / "a.safetensors", snapshot + "/model.safetensors");
  EXPECT_EQ(Checkpoint::open(top)->folder(), snapshot);
  const Variable cache("HF_HUB_CACHE", folder_ / "hub");
  EXPECT_EQ(Checkpoint::open("org/name")->folder(), snapshot);
  EXPECT_EQ(Checkpoint::open("org/other").error().code, ErrorCode::file_not_found);
  write_text(top + "/refs/main", "../../..");
  EXPECT_FALSE(Checkpoint::open("org/name"));
}

TEST_F(CheckpointFiles, ST20_AFileThatIsMissingIsNamed) {
  std::filesystem::remove(folder_ / "b.safetensors");
  EXPECT_EQ(refused(index_),
            "diecast: file_not_found: cannot open \"F/b.safetensors\": No such file or directory "
            "(errno 2); the index \"F/model.safetensors.index.json\" names it\n"
            "  fix: write or download that file too, beside the index");
  write_text(folder_ / "b.safetensors", "cut");
  EXPECT_EQ(refused(index_).find("diecast: file_corrupt: \"F/b.safetensors\": "), 0u);
}

TEST_F(CheckpointFiles, ST20_ATensorInTwoFilesOrInAnotherThanTheIndexSaysIsRefused) {
  const std::string fix =
      "\n  fix: write or download the files and the index again, all of one checkpoint";
  EXPECT_EQ(refused_index(R"({"weight_map":{"x":"a.safetensors","y":"a.safetensors",)"
                          R"("z":"b.safetensors"}})"),
            "diecast: file_corrupt: the index says that \"y\" is in \"a.safetensors\", it is in "
            "\"b.safetensors\"" +
                fix);
  EXPECT_EQ(refused_index(R"({"weight_map":{"x":"a.safetensors","z":"b.safetensors"}})"),
            "diecast: file_corrupt: the index says that \"z\" is in \"b.safetensors\", it is in no "
            "file" +
                fix);
  write_text(folder_ / "b.safetensors", encode({{{"x", floats({1}, {3})}}, {}}));
  EXPECT_EQ(refused_index(index_of(shards_).dump()),
            "diecast: file_corrupt: tensor \"x\" is in \"a.safetensors\" and in \"b.safetensors\"\n"
            "  fix: leave it in one of them, or write or download the checkpoint again");
}

TEST(SafetensorsIndex, KeepsItsMetadataWithWholeNumbersExactAndTakesNullForNone) {
  const auto again = [](const std::string& metadata) {
    const auto index =
        parse_index(R"({"other":1,"metadata":)" + metadata +
                        R"(,"weight_map":{"metadata":"a.safetensors","x":"a.safetensors"}})",
                    "F");
    if (!index) return index.error().message();
    return nlohmann::json::parse(encode_index(*index, 7)).dump();
  };
  const auto with = [](const std::string& metadata) {
    return R"({"metadata":{)" + metadata +
           R"("total_size":7},"weight_map":{"metadata":"a.safetensors","x":"a.safetensors"}})";
  };
  EXPECT_EQ(again("null"), with(""));
  EXPECT_EQ(again(R"({"a":18446744073709551615,"b":-9223372036854775808,"c":[{"d":1},{"d":0.5}]})"),
            with(R"("a":18446744073709551615,"b":-9223372036854775808,"c":[{"d":1},{"d":0.5}],)"));
}

TEST_F(CheckpointFiles, ST20_AnIndexThatIsNoneIsRefused) {
  const std::string start = "diecast: file_corrupt: \"F/model.safetensors.index.json\": ";
  const std::string fix =
      "\n  fix: give the index of a checkpoint; if it is one, write or download it again";
  const std::pair<std::string, std::string> cases[] = {
      {"", "it is not JSON"},
      {"{\"weight_map\":{\"x\":\"a.safetensors\"}", "it is not JSON"},
      {"[]", "it has no weight_map, an object of tensors and their files"},
      {"{}", "it has no weight_map, an object of tensors and their files"},
      {R"({"weight_map":{}})", "it has no weight_map, an object of tensors and their files"},
      {R"({"weight_map":{"x":1}})", "the weight_map gives \"x\" no file"},
      {R"({"weight_map":{"x":"../a.safetensors"}})",
       "\"../a.safetensors\", the file of \"x\", is not in the folder of the index"},
      {R"({"weight_map":{"x":"/etc/a.safetensors"}})",
       "\"/etc/a.safetensors\", the file of \"x\", is not in the folder of the index"},
      {R"({"weight_map":{"x":"a\u0000.safetensors"}})",
       "\"a\\x00.safetensors\", the file of \"x\", is no file name"},
      {R"({"weight_map":{"x":"a.safetensors","\u0078":"b.safetensors"}})",
       "tensor \"x\" is given twice"},
      {R"({"weight_map":{"x":"a.safetensors"},"weight_map":{"y":"b.safetensors"}})",
       "\"weight_map\" is given twice"},
      {R"({"metadata":{"a":1,"a":2},"weight_map":{"x":"a.safetensors"}})", "\"a\" is given twice"},
      {R"({"metadata":{"a":[{"b":1,"b":1}]},"weight_map":{"x":"a.safetensors"}})",
       "\"b\" is given twice"},
      {R"({"metadata":{"a":18446744073709551616},"weight_map":{"x":"a.safetensors"}})",
       "its metadata has a number of more than 64 bits"},
      {R"({"metadata":1,"weight_map":{"x":"a.safetensors"}})", "its metadata is no object"},
      {R"({"metadata":)" + std::string(100, '[') + std::string(100, ']') + "}",
       "it nests deeper than 64 levels"}};
  for (const auto& [text, what] : cases) EXPECT_EQ(refused_index(text), start + what + fix) << text;
  EXPECT_EQ(refused_index(R"({"weight_map":{"x":"pytorch_model-1.bin"}})"),
            "diecast: not_supported: \"F/model.safetensors.index.json\": \"pytorch_model-1.bin\", "
            "the file of \"x\", is no .safetensors file\n"
            "  fix: save the checkpoint as .safetensors files first");
}

}  // namespace
}  // namespace diecast::testing
