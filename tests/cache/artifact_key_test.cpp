// Keys: pinned bytes, and every field counts. A changed digest here means that every cache in the
// field misses: bump kKeyVersion if a field's meaning changed, else find out why.
#include <diecast/cache/artifact_key.h>
#include <diecast/compile/compiler.h>
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>
#include <gtest/gtest.h>

#include <set>

namespace diecast {
namespace {

KeyFields sample_fields() {
  return {"copy",   "int COLS;\n",         {"-arch=sm_90a", "-std=c++20"},
          "sm_90a", Artifact::Kind::cubin, "x in f32\n"};
}

TEST(ArtifactKey, HasPinnedRecordBytesAndDigest) {
  const ArtifactKey key = make_key(sample_fields());
  // Each line: tag, length, bytes; all little-endian.
  EXPECT_EQ(hex(key.record.bytes()),
            "0100080000000200000000000000"          // version 2
            "020004000000636f7079"                  // copy
            "03000a000000696e7420434f4c533b0a"      // the source
            "040022000000"                          // options, a record of two fields:
            "01000c0000002d617263683d736d5f393061"  //   -arch=sm_90a
            "01000a0000002d7374643d632b2b3230"      //   -std=c++20
            "050006000000736d5f393061"              // sm_90a
            "0600080000000100000000000000"          // cubin
            "0700090000007820696e206633320a");      // the schema
  EXPECT_EQ(key.hex(), "9d7f842b144b67198bd117cd8a0457be");
  EXPECT_EQ(key.digest, key.record.digest());
}

TEST(ArtifactKey, ChangesWithEveryField) {
  std::set<std::string> digests = {make_key(sample_fields()).hex()};
  const auto add = [&](const auto& change) {
    KeyFields fields = sample_fields();
    change(fields);
    EXPECT_TRUE(digests.insert(make_key(fields).hex()).second) << digests.size();
  };
  add([](KeyFields& f) { f.template_name = "copz"; });
  add([](KeyFields& f) { f.template_name = ""; });
  add([](KeyFields& f) { f.source = "int COLS;"; });
  add([](KeyFields& f) { f.source = "int COLS;\n "; });
  add([](KeyFields& f) { f.options = {"-std=c++20", "-arch=sm_90a"}; });  // order counts
  add([](KeyFields& f) { f.options = {"-arch=sm_90a"}; });
  add([](KeyFields& f) { f.options = {}; });
  add([](KeyFields& f) { f.options.push_back(""); });
  add([](KeyFields& f) { f.target = "sm_90"; });
  add([](KeyFields& f) { f.target = "sm_100a"; });
  add([](KeyFields& f) { f.kind = Artifact::Kind::shared_object; });
  add([](KeyFields& f) { f.schema = "x in f16\n"; });
  add([](KeyFields& f) { f.schema = ""; });
  EXPECT_EQ(digests.size(), 14u);
}

TEST(ArtifactKey, ChangesWithEveryByteOfTheSource) {
  std::string source = "// a source\nextern \"C\" __global__ void f() {}\n";
  std::set<std::string> digests;
  for (std::size_t i = 0; i <= source.size(); ++i) {
    KeyFields fields = sample_fields();
    std::string changed = source;
    if (i < source.size()) changed[i] = static_cast<char>(changed[i] ^ 1);
    fields.source = changed;
    digests.insert(make_key(fields).hex());
  }
  EXPECT_EQ(digests.size(), source.size() + 1);
}

TEST(ArtifactKey, KeepsTextsApartWhenTheirBoundaryMoves) {
  const auto key = [](std::string_view name, std::string_view source,
                      std::vector<std::string> options) {
    KeyFields fields = sample_fields();
    fields.template_name = name;
    fields.source = source;
    fields.options = std::move(options);
    return make_key(fields).hex();
  };
  EXPECT_NE(key("a", "bc", {}), key("ab", "c", {}));
  EXPECT_NE(key("a", "b", {"c", "d"}), key("a", "b", {"cd"}));
  EXPECT_NE(key("a", "b", {"c", ""}), key("a", "b", {"c"}));
  // An option that spells the bytes of two is one option all the same.
  const std::string forged = std::string("c\x01\x00\x01\x00\x00\x00", 7) + "d";
  EXPECT_NE(key("a", "b", {forged}), key("a", "b", {"c", "d"}));
}

Specialization specialize(int cols, std::string_view target) {
  const auto copy = Template::parse("copy", R"(// copy: x to y.
/* diecast
shape    int   COLS                     // row length
size     rows
size     cols  = COLS
arg      x     in   f32   [rows, cols]
arg      y     out  f32   [rows, cols]
arg      rows
arg      cols
launch   grid(rows) block(32) shared(0)
target   host, sm_80+
exchange none
sample   COLS {16}  rows {1}
*/
DIECAST_KERNEL { for (i64 i = 0; i < cols; ++i) y[i] = x[i]; }
)");
  return Specialization::make(copy.value(), Bindings().set("COLS", cols),
                              Target::parse(target).value())
      .value();
}

// The source is made by hand, so that only the key's own floor and the options can change this.
TEST(ArtifactKey, IsPinnedForASpecializationAndItsSource) {
  const Specialization cuda = specialize(16, "sm_90a"), host = specialize(16, "host");
  const Source source{"copy.cu", "copy", "constexpr int COLS = 16;\n"};
  EXPECT_EQ(make_key(cuda, source).hex(), "9373a9203c1edb465630cd9eaa2e18e9");
  const ArtifactKey key = make_key(host, source);
  EXPECT_EQ(key.digest, make_key(KeyFields{"copy", source.text, code_options(host.target()), "host",
                                           Artifact::Kind::shared_object, host.argument_schema()})
                            .digest);
}

TEST(ArtifactKey, FollowsTheBuild) {
  for (const char* target : {"host", "sm_90a"}) {
    std::set<std::string> digests;
    for (const BuildKind build : {BuildKind::plain, BuildKind::lines, BuildKind::debug}) {
      const Specialization one = specialize(16, target);
      const Source source = render(one, TemplateFiles::embedded(), build).value();
      EXPECT_TRUE(digests.insert(make_key(one, source).hex()).second) << build_kind_word(build);
    }
  }
}

TEST(ArtifactKey, FollowsTheRenderedSourceAndTheTarget) {
  std::set<std::string> digests;
  for (const int cols : {0, 16, 32}) {
    for (const char* target : {"host", "host_v3", "sm_86", "sm_90a", "sm_100a", "sm_100f"}) {
      const Specialization specialization = specialize(cols, target);
      const Source source = render(specialization, TemplateFiles::embedded()).value();
      EXPECT_TRUE(digests.insert(make_key(specialization, source).hex()).second) << target << cols;
      EXPECT_EQ(make_key(specialize(cols, target), source).digest,
                make_key(specialization, source).digest);
    }
  }
}

TEST(ArtifactKey, GivesItsFieldsBack) {
  const ArtifactKey key = make_key(sample_fields());
  EXPECT_EQ(key_field(key.record.bytes(), KeyTag::source)->text(), "int COLS;\n");
  EXPECT_EQ(Record::number(*key_field(key.record.bytes(), KeyTag::version)), kKeyVersion);
  EXPECT_FALSE(key_field(key.record.bytes(), static_cast<KeyTag>(99)));
  EXPECT_FALSE(key_field(key.record.bytes().first(7), KeyTag::version));
}

}  // namespace
}  // namespace diecast
