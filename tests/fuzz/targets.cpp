// The targets: see targets.h.
#include "fuzz/targets.h"

#include <diecast/cache/bundle.h>
#include <diecast/cache/cache_roots.h>
#include <diecast/cache/entry.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/safetensors_index.h>
#include <diecast/compile/artifact.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/runtime.h>
#include <diecast/template/expr.h>
#include <diecast/template/specialization.h>
#include <diecast/template/template.h>
#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "cache/model_file_system.h"
#include "cache/sample_artifact.h"
#include "fake/cubin.h"
#include "fuzz/checkpoint_target.h"
#include "fuzz/complete_target.h"
#include "fuzz/npy_target.h"
#include "fuzz/repair.h"
#include "fuzz/tuning_target.h"

namespace diecast::testing {
namespace {

std::string text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What decodes is what was encoded: to the byte.
void check_entry(std::string_view input) {
  const DecodedEntry decoded = decode_entry(as_bytes(input), nullptr);
  (void)decode_summary(as_bytes(input), input.size());
  if (decoded.fault != EntryFault::none) return;
  const ArtifactKey key = key_of(entry_record(as_bytes(input)));
  must(decode_entry(as_bytes(input), &key).fault == EntryFault::none);
  must(encode_entry(key, decoded.artifact).ok());
}

void fuzz_entry(std::string_view input) {
  check_entry(input);
  for (const bool lengths : {false, true}) check_entry(repaired_entry(input, lengths));
}

// Entries that NVRTC made.
std::vector<std::string> real_entries() {
  std::vector<std::string> out;
  for (const char* name : {"amax", "quantize_nvfp4", "dequantize_nvfp4"}) {
    std::ifstream file(std::string(DIECAST_SOURCE_DIR "/tests/golden/") + name + ".dce",
                       std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    must(!out.back().empty());
  }
  return out;
}

std::vector<std::string> entry_seeds() {
  std::vector<std::string> out = real_entries();
  for (const std::size_t payload : {1u, 100u, 3000u}) {
    const Sample sample = make_sample(1, payload);
    out.push_back(text_of(*encode_entry(sample.key, sample.artifact)));
  }
  return out;
}

std::string in_file(ModelFileSystem& files, const std::string& path) {
  const int file = files.open_at(AT_FDCWD, path.c_str(), O_RDONLY, 0);
  struct stat status;
  files.status(file, &status);
  std::string out(static_cast<std::size_t>(status.st_size), '\0');
  (void)read_exactly(files, file, out.data(), out.size(), 0);
  return out;
}

void check_bundle(std::string_view input) {
  ModelFileSystem files;
  const int file = files.open_at(AT_FDCWD, "/k.dcb", O_CREAT | O_WRONLY, 0600);
  must(write_exactly(files, file, input.data(), input.size(), 0) == 0);
  const auto bundle = Bundle::open("/k.dcb", {}, files);
  if (!bundle) return;
  const Sample sample = make_sample(1, 100);
  const auto found = (*bundle)->find(sample.key, "");
  must(!found || found->symbol == sample.artifact.symbol);
  (void)(*bundle)->verify();
}

void fuzz_bundle(std::string_view input) {
  check_bundle(input);
  check_bundle(repaired_bundle(input));
}

std::vector<std::string> bundle_seeds() {
  std::vector<std::string> out;
  for (const int count : {0, 1, 3}) {
    ModelFileSystem files;
    std::vector<Sample> samples;
    for (int i = 0; i < count; ++i) samples.push_back(make_sample(i, 100));
    std::ranges::sort(samples, {}, [](const Sample& sample) { return sample.key.digest; });
    auto writer = BundleWriter::create("/k.dcb", files).value();
    for (const Sample& sample : samples) {
      must(writer.add(*encode_entry(sample.key, sample.artifact)).ok());
    }
    must(writer.commit().ok());
    out.push_back(in_file(files, "/k.dcb"));
  }
  ModelFileSystem files;  // and one of code that NVRTC made
  auto writer = BundleWriter::create("/k.dcb", files).value();
  must(writer.add(as_bytes(real_entries().front())).ok());
  must(writer.commit().ok());
  out.push_back(in_file(files, "/k.dcb"));
  return out;
}

// A file's header and the size of the whole file before it, as 8 bytes each.
void fuzz_safetensors(std::string_view input) {
  if (input.size() < 8) return;
  std::uint64_t bytes = 0;
  std::copy_n(input.data(), 8, reinterpret_cast<char*>(&bytes));
  const auto header = parse_header(input.substr(8), bytes, "fuzz.safetensors");
  if (!header) must(!header.error().fix.empty());
}

std::vector<std::string> safetensors_seeds() {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,16],"data_offsets":[0,64]},)"
      R"("b":{"dtype":"F8_E4M3","shape":[],"data_offsets":[64,65]}})";
  const std::uint64_t bytes = 8 + json.size() + 65;
  return {std::string(reinterpret_cast<const char*>(&bytes), 8) + json};
}

// What is read can be written, and reads back as the same.
void fuzz_index(std::string_view input) {
  const auto index = parse_index(input, "fuzz.json");
  if (!index) {
    must(!index.error().fix.empty());
    return;
  }
  for (const auto& [tensor, file] : index->files) must(file.find('/') == file.npos);
  const auto again = parse_index(encode_index(*index, 1), "fuzz.json");
  must(again && again->files == index->files);
}

std::vector<std::string> index_seeds() {
  return {
      R"({"metadata":{"total_size":72},"weight_map":{"a":"m-1.safetensors","b\u00e9":"m.safetensors"}})"};
}

const std::shared_ptr<Runtime>& runtime() {
  static const std::shared_ptr<Runtime> made = [] {
    RuntimeOptions options;
    options.cache = "off";
    return Runtime::create(options).value();
  }();
  return made;
}

void fuzz_manifest(std::string_view input) {
  const auto expanded = expand_manifest(*runtime(), input, "fuzz.txt", {}, expand_op);
  if (!expanded) {
    must(!expanded.error().fix.empty());
    return;
  }
  // A specialization's spelling means itself.
  for (std::size_t i = 0; i < std::min<std::size_t>(expanded->size(), 3); ++i) {
    const std::string spelling = (*expanded)[i].spelling();
    must(runtime()->specialize(spelling).value().spelling() == spelling);
  }
}

std::vector<std::string> manifest_seeds() {
  return {"# a comment\namax IN=bf16,f16 COLS=0,4096 ROWS=* @ sm_90a sm_100f\n",
          "op quantize_nvfp4 in=bf16 cols=0,4096 layout=linear,s128x4 rows=* @ sm_90a sm_80\n",
          "quantize_nvfp4 IN=* LAYOUT=linear @ host\n\n",
          "amax IN=f32 PER=row THREADS=128 @ sm_80"};
}

void fuzz_template(std::string_view input) {
  const auto parsed = Template::parse("fuzz", input);
  if (!parsed) must(!parsed.error().fix.empty());
}

std::vector<std::string> template_seeds() {
  std::vector<std::string> out;
  for (const char* name : {"amax", "dequantize_nvfp4"}) {
    out.push_back(runtime()->find_template(name).value()->text());
  }
  out.push_back(
      "/* diecast\noption enum L {a, b, c} = a\nuse <diecast/device/base/types.h>\n"
      "let WIDE = L in {b, c} && !host\nlet ORDER = WIDE ? L : a\nrequire ORDER != c // two\n"
      "launch grid(1) block(WIDE ? 64 : 32)\n*/\nDIECAST_KERNEL {}\n");
  return out;
}

void fuzz_expression(std::string_view input) {
  const auto parsed = Expression::parse(input, "fuzz", 1);
  if (!parsed) return;
  (void)parsed->evaluate([](std::string_view) { return std::optional<std::int64_t>(3); });
}

std::vector<std::string> expression_seeds() {
  return {"min(ceil_div(rows * cols, BLOCK * THREADS), sm_count * 64)",
          "!a in {1, b, bits(IN)} || bits(u8) in {8}",
          "a % 16 == 0 && b != -1 || !c ? align_up(x, 64) : max(1, 9223372036854775807)"};
}

void fuzz_spelling(std::string_view input) {
  const auto parsed = parse_spelling(input);
  if (!parsed) must(!parsed.error().fix.empty());
  (void)runtime()->specialize(input);
}

std::vector<std::string> spelling_seeds() {
  return {"quantize_nvfp4 COLS=4096 IN=bf16 LAYOUT=s128x4 THREADS=128 @ sm_100a",
          "amax IN=bf16,f16 COLS=* @ host sm_90a"};
}

void fuzz_target(std::string_view input) {
  if (const auto target = Target::parse(input)) must(Target::parse(target->name()).ok());
}

std::vector<std::string> target_seeds() {
  return {"sm_90a", "sm_100f", "host", "host_v3", "sm_80"};
}

void fuzz_cubin(std::string_view input) {
  (void)check_cubin(as_bytes(input), Target{Target::Kind::cuda, 90, 'a', 1}, "k");
  (void)check_shared_object(as_bytes(input), "k");
}

std::vector<std::string> cubin_seeds() {
  FakeCubin cubin;
  cubin.symbols = {"k"};
  FakeCubin older = cubin;
  older.cuda13 = false;
  std::vector<std::string> out = {cubin.bytes(), older.bytes()};
  for (const std::string& entry : real_entries()) {
    out.push_back(text_of(decode_entry(as_bytes(entry), nullptr).artifact.payload));
  }
  return out;
}

void fuzz_roots(std::string_view input) {
  const auto roots = parse_cache_setting(input);
  if (!roots) return;
  for (const CacheRootSetting& root : *roots) must(root.path.starts_with('/'));
}

std::vector<std::string> roots_seeds() {
  return {"ro:/a,bundle:/b.dcb#sha256=" + std::string(64, 'f') + ",rw:/c", "/x", "off"};
}

constexpr FuzzTarget kTargets[] = {{"entry", fuzz_entry, entry_seeds},
                                   {"bundle", fuzz_bundle, bundle_seeds},
                                   {"safetensors", fuzz_safetensors, safetensors_seeds},
                                   {"index", fuzz_index, index_seeds},
                                   {"config", fuzz_config, config_seeds},
                                   {"weights", fuzz_weights, weights_seeds},
                                   {"manifest", fuzz_manifest, manifest_seeds},
                                   {"template", fuzz_template, template_seeds},
                                   {"complete", fuzz_complete, complete_seeds},
                                   {"expression", fuzz_expression, expression_seeds},
                                   {"spelling", fuzz_spelling, spelling_seeds},
                                   {"target", fuzz_target, target_seeds},
                                   {"cubin", fuzz_cubin, cubin_seeds},
                                   {"roots", fuzz_roots, roots_seeds},
                                   {"tuning", fuzz_tuning, tuning_seeds},
                                   {"npy", fuzz_npy, npy_seeds}};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return kTargets; }

}  // namespace diecast::testing
