// One valid file of many is written, always the same one, whole or not at all.
#include <checkpoint/checkpoint_files.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <fake_file_system.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <temporary_directory.h>
#include <unistd.h>

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::file_of;
using testing::FileCall;
using testing::FileFault;
using testing::TemporaryDirectory;
using testing::text_of;
using testing::tree;
using testing::write_text;

const std::vector<TensorInfo> kTensors = {
    {"b", StoredDType::u8, {3}}, {"c", StoredDType::f32, {}}, {"a", StoredDType::bf16, {2, 1}}};
const std::string kHeader = R"({"__metadata__":{"k\n":"v\"","z":"\u001f"},)"
                            R"("c":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                            R"("a":{"dtype":"BF16","shape":[2,1],"data_offsets":[4,8]},)"
                            R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
const Metadata kMetadata = {{"k\n", "v\""}, {"z", "\x1f"}};

ByteSpan bytes_of(std::string_view text) { return as_bytes(text); }

// Writes kTensors with data "cccc" "aaaa" "bbb".
Result<void> write_file(const std::string& path, FileSystem& files = system_files(),
                        const SafetensorsReader* input = nullptr) {
  DIECAST_TRY(SafetensorsHeader layout, lay_out(kTensors, kMetadata));
  DIECAST_TRY(SafetensorsWriter writer,
              SafetensorsWriter::create(path, std::move(layout), input, files));
  for (const TensorInfo& tensor : writer.layout().tensors) {
    const std::string data(tensor.bytes(), tensor.name[0]);
    DIECAST_CHECK(writer.write(tensor, 0, bytes_of(data).subspan(0, 1)));
    DIECAST_CHECK(writer.write(tensor, 1, bytes_of(data).subspan(1)));
  }
  return writer.commit();
}

std::string expected_file() {
  std::string header = kHeader;
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return file_of(header, "ccccaaaabbb");
}

TEST(SafetensorsWriter, WR01_HeaderBeyondTheLimitIsRefusedBeforeWriting) {
  std::vector<TensorInfo> tensors;
  for (int i = 0; i < 101; ++i)
    tensors.push_back({std::string(1'000'000, 'n') + std::to_string(i), StoredDType::u8, {0}});
  const auto layout = lay_out(std::move(tensors), {});
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().message(),
            "diecast: invalid_argument: the output's header would take 101005352 bytes, the limit "
            "is 100000000\n"
            "  fix: leave tensors out or shorten their names");
}

TEST(SafetensorsWriter, WR02_WidestTypeFirstThenNameAndPaddedToEight) {
  TemporaryDirectory folder;
  const auto written = write_file(folder / "out");
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(text_of(folder / "out"), expected_file());
  EXPECT_EQ((8 + (kHeader.size() + 7) / 8 * 8) % 8, 0u);
}

// nvfp4_te.safetensors came from the reference writer, with its metadata in our order.
TEST(SafetensorsWriter, WR02_ReferenceWritersFileComesOutToTheByte) {
  const std::string path = DIECAST_SOURCE_DIR "/tests/golden/nvfp4_te.safetensors";
  const auto reader = SafetensorsReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message();
  std::vector<TensorInfo> tensors = reader->header().tensors;
  std::reverse(tensors.begin(), tensors.end());
  const auto layout = lay_out(tensors, reader->header().metadata);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(encode_header(*layout) == text_of(path).substr(0, layout->data_begin));
  for (const TensorInfo& tensor : reader->header().tensors) {
    EXPECT_EQ(layout->find(tensor.name)->begin, tensor.begin);
  }
}

TEST(SafetensorsWriter, WR03_WR04_FailureOfAnyCallLeavesTheOldFileOrNone) {
  for (const bool exists : {false, true}) {
    for (const int error : {ENOSPC, EIO, EDQUOT, EFBIG}) {
      for (int call = 1;; ++call) {
        TemporaryDirectory folder;
        if (exists) write_text(folder / "out", "old");
        // Not sticky: what clears up after the failure works.
        FakeFileSystem files(FakeFileSystem::fail_from(call, error, false));
        const auto written = write_file(folder / "out", files);
        if (!files.refused()) break;
        const std::string what = "call " + std::to_string(call) + " " +
                                 files.log()[static_cast<std::size_t>(call) - 1].name;
        if (written) {  // a call whose failure does no harm: its result is not the file's
          EXPECT_EQ(text_of(folder / "out"), expected_file()) << what;
          continue;
        }
        EXPECT_FALSE(written.error().fix.empty()) << what;
        const std::string left = exists ? "old" : "";
        const std::string now = text_of(folder / "out");
        // The name is there and complete when only the folder's sync failed.
        EXPECT_TRUE(now == left || now == expected_file()) << what;
        EXPECT_EQ(tree(folder.path()).size(), now.empty() ? 0u : 1u) << what;
      }
    }
  }
}

TEST(SafetensorsWriter, WR03_NoSpaceIsSeenBeforeDataIsWritten) {
  TemporaryDirectory folder;
  FakeFileSystem files(FakeFileSystem::refuse("reserve", ENOSPC));
  const auto written = write_file(folder / "out", files);
  ASSERT_FALSE(written);
  EXPECT_EQ(code_word(written.error().code), "io_error");
  EXPECT_NE(written.error().what.find("No space left on device"), std::string::npos)
      << written.error().what;
  for (const FileCall& call : files.log()) EXPECT_NE(call.name, "write_at");
  EXPECT_TRUE(tree(folder.path()).empty());
}

// The old file or the new one, and nothing beside it but where the file has its temporary name.
TEST(SafetensorsWriter, WR04_ProcessThatDiesAtAnyCallLeavesTheOldFileOrTheNew) {
  constexpr int kNamed = 8, kUnnamed = 9;  // exit codes
  for (int call = 1;; ++call) {
    TemporaryDirectory folder;
    write_text(folder / "out", "old");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool named = !testing::has_unnamed_files(folder.path());
      FakeFileSystem files([&](const FileCall& now) {
        if (now.number == call) ::_exit(named ? kNamed : kUnnamed);
        if (now.name == "link_descriptor") named = true;
        if (now.name == "rename_at") named = false;
        return FileFault{};
      });
      ::_exit(write_file(folder / "out", files) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::string now = text_of(folder / "out");
    EXPECT_TRUE(now == "old" || now == expected_file()) << "call " << call;
    if (WEXITSTATUS(status) != kNamed) {
      EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"out"}) << "call " << call;
    }
    if (WEXITSTATUS(status) >= kNamed) continue;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(now, expected_file());
    EXPECT_GT(call, 8);
    break;
  }
}

TEST(SafetensorsWriter, WR05_TemporaryFileIsASiblingAndItsFolderMustBeThere) {
  TemporaryDirectory folder;
  const auto missing = write_file(folder / "no/out");
  ASSERT_FALSE(missing);
  EXPECT_EQ(code_word(missing.error().code), "file_not_found");
  FakeFileSystem read_only([](const FileCall& call) {
    return FileFault{call.name == "open_at" && (call.flags & (O_WRONLY | O_RDWR)) ? EROFS : 0};
  });
  const auto refused = write_file(folder / "out", read_only);
  ASSERT_FALSE(refused);
  EXPECT_EQ(code_word(refused.error().code), "io_error");
  FakeFileSystem files;
  ASSERT_TRUE(write_file(folder / "out", files));
  for (const FileCall& call : files.log()) {
    const bool writes = call.name == "open_at" && (call.flags & (O_WRONLY | O_RDWR)) != 0;
    if (!writes && call.name != "link_descriptor") continue;
    EXPECT_EQ(call.path.find('/'), std::string::npos) << call.path;
  }
}

TEST(SafetensorsWriter, WR05_DirectoryFifoAndDeviceAreNotReplaced) {
  TemporaryDirectory folder;
  const auto error = [](const std::string& path) { return write_file(path).error(); };
  ASSERT_EQ(::mkdir((folder / "d").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((folder / "f").c_str(), 0600), 0);
  EXPECT_EQ(error(folder / "d").message(),
            "diecast: file_exists: the output \"" + (folder / "d") +
                "\" is a directory\n  fix: give the output the path of a new or regular file");
  EXPECT_EQ(error(folder / "f").what,
            "the output \"" + (folder / "f") + "\" is not a regular file");
  EXPECT_EQ(error("/dev/null").what, "the output \"/dev/null\" is not a regular file");
}

TEST(SafetensorsWriter, WR06_OutputThatIsTheInputIsRefusedUnderAnyName) {
  TemporaryDirectory folder;
  const std::string input = folder / "in";
  write_text(input, file_of("{}"));
  const auto reader = SafetensorsReader::open(input);
  ASSERT_TRUE(reader);
  ASSERT_EQ(::link(input.c_str(), (folder / "hard").c_str()), 0);
  ASSERT_EQ(::symlink("in", (folder / "soft").c_str()), 0);
  const std::string around = "../" + folder.path().substr(5) + "/in";
  for (const std::string& name :
       {std::string("in"), std::string("hard"), std::string("soft"), around}) {
    const auto written = write_file(folder / name, system_files(), &*reader);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().message(),
              "diecast: invalid_argument: the output \"" + (folder / name) + "\" is the input \"" +
                  input + "\"\n  fix: give the output another name; the input is never changed");
  }
  EXPECT_EQ(text_of(input), file_of("{}"));
}

TEST(SafetensorsWriter, WR07_SuccessMeansFileAndFolderAreSynced) {
  TemporaryDirectory folder;
  FakeFileSystem files;
  ASSERT_TRUE(write_file(folder / "out", files));
  std::vector<std::string> order;
  for (const FileCall& call : files.log())
    if (call.name.starts_with("sync") || call.name == "rename_at") order.push_back(call.name);
  if (testing::has_unnamed_files(folder.path())) order.erase(order.begin());  // before its name
  EXPECT_EQ(order, (std::vector<std::string>{"sync_all", "rename_at", "sync_all"}));
}

TEST(SafetensorsWriter, WR09_WholeSizeIsReservedBeforeTheFirstByte) {
  TemporaryDirectory folder;
  FakeFileSystem files;
  ASSERT_TRUE(write_file(folder / "out", files));
  std::vector<std::string> order;
  for (const FileCall& call : files.log()) {
    if (call.name == "reserve" || call.name == "write_at") order.push_back(call.name);
  }
  EXPECT_EQ(order.front(), "reserve");
  EXPECT_EQ(std::count(order.begin(), order.end(), "reserve"), 1);
}

TEST(SafetensorsWriter, WR13_MetadataComesBackAsItWas) {
  TemporaryDirectory folder;
  ASSERT_TRUE(write_file(folder / "out"));
  const auto reader = SafetensorsReader::open(folder / "out");
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->header().metadata, kMetadata);
}

TEST(SafetensorsWriter, EveryPrefixOfItsFileIsRefusedByTheReader) {
  TemporaryDirectory folder;
  const std::string whole = expected_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(folder / "part", whole.substr(0, size));
    EXPECT_FALSE(SafetensorsReader::open(folder / "part")) << size;
  }
}

TEST(SafetensorsWriter, LayoutRefusesWhatNoReaderWouldTake) {
  const auto what = [](std::vector<TensorInfo> tensors, Metadata metadata = {}) {
    const auto layout = lay_out(std::move(tensors), std::move(metadata));
    return layout ? "" : layout.error().what;
  };
  EXPECT_EQ(what({{"a", StoredDType::u8, {1}}, {"a", StoredDType::f32, {1}}}),
            "\"output\": tensor \"a\" is in the header twice");
  EXPECT_EQ(what({{"a", StoredDType::f4, {3}}}),
            "tensor \"a\", shape [3]: the elements do not fill whole bytes");
  EXPECT_EQ(what({{"a", StoredDType::u8, {1ull << 60}},
                  {"b", StoredDType::u8, {1ull << 60}},
                  {"c", StoredDType::u8, {1ull << 60}},
                  {"d", StoredDType::u8, {1ull << 60}},
                  {"e", StoredDType::u8, {1}}}),
            "tensor \"e\", shape [1]: the file would be too large");
  EXPECT_EQ(what({{"\xFF", StoredDType::u8, {1}}}),
            "a name or metadata text of the output is not UTF-8");
  EXPECT_EQ(what({}, {{"k", "\xFF"}}), "a name or metadata text of the output is not UTF-8");
  EXPECT_EQ(what({}), "");
}

TEST(SafetensorsWriter, EmptyTensorsKeepTheirPlaceInTheOrder) {
  const auto layout = lay_out(
      {{"y", StoredDType::bf16, {0}}, {"z", StoredDType::f32, {0}}, {"a", StoredDType::u8, {1}}},
      {});
  ASSERT_TRUE(layout);
  std::string names;
  for (const TensorInfo& tensor : layout->tensors) names += tensor.name;
  EXPECT_EQ(names, "zya");
}

TEST(SafetensorsWriter, UnwrittenBytesAndBytesTooManyAreErrors) {
  TemporaryDirectory folder;
  auto writer = SafetensorsWriter::create(folder / "out", *lay_out(kTensors, {}), nullptr);
  ASSERT_TRUE(writer);
  const TensorInfo& c = writer->layout().tensors[0];
  EXPECT_EQ(writer->write(c, 2, bytes_of("ccc")).error().what,
            "tensor \"c\" of 4 bytes was given 3 more at byte 2");
  ASSERT_TRUE(writer->write(c, 0, bytes_of("cc")));
  EXPECT_EQ(writer->commit().error().what, "tensor \"c\" lacks 2 of its 4 bytes");
  EXPECT_EQ(writer->write(c, 0, bytes_of("ccc")).error().what,
            "tensor \"c\" of 4 bytes was given 3 more at byte 0");
  EXPECT_FALSE(std::ifstream(folder / "out").good());
}

}  // namespace
}  // namespace diecast
