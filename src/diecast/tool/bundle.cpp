// diecast bundle create|export|import|verify: one file of kernels for images and model
// repositories.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/outcomes.h>

#include <algorithm>
#include <filesystem>

namespace diecast::tool {
namespace {

struct BundleArguments {
  std::string file, sha256;
  std::vector<std::string> manifests, targets, own;
  int jobs = 0;
};

struct Packed {
  Digest key;
  std::string compiler;
  Bytes entry;
};

Result<int> write(const std::string& path, std::vector<Packed> entries) {
  std::ranges::sort(entries, [](const Packed& a, const Packed& b) {
    return a.key != b.key ? a.key < b.key : is_older_identity(a.compiler, b.compiler);
  });
  DIECAST_TRY(BundleWriter writer, BundleWriter::create(path));
  for (const Packed& packed : entries) DIECAST_CHECK(writer.add(packed.entry));
  DIECAST_TRY(const auto written, writer.commit());
  print(cat(path, ": ", written.entries, " kernels, ", human_bytes(written.bytes)));
  print(cat("sha256 ", hex(written.digest)));
  print(cat("use it with DIECAST_CACHE=bundle:PATH, or pinned with bundle:PATH#sha256=",
            hex(written.digest)));
  return 0;
}

// Exactly what the manifests name, compiled where the cache lacks it.
Result<int> create(const BundleArguments& options) {
  RuntimeOptions with = RuntimeOptions::from_environment();
  with.isolated.program = own_program();
  DIECAST_TRY(const auto runtime, open_runtime(with));
  for (const std::string& path : options.own) DIECAST_CHECK(runtime->add(path));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  DIECAST_TRY(const auto wanted, read_manifests(*runtime, options.manifests, targets));
  DIECAST_CHECK(AtomicFile::create(system_files(), options.file));  // before the work, not after it
  const auto outcomes = warm_with_progress(*runtime, wanted, options.jobs, "bundle", false);
  std::vector<Packed> entries;
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.error) return *outcome.error;
    const Artifact& artifact = *outcome.resolved->artifact;
    DIECAST_TRY(const ArtifactKey key, runtime->key(*outcome.specialization));
    DIECAST_TRY(Bytes entry, encode_entry(key, artifact));
    entries.push_back({key.digest, artifact.compiler, std::move(entry)});
  }
  return write(options.file, std::move(entries));
}

// Everything that the writable root holds now; what is damaged is left out and said.
Result<int> export_all(const BundleArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(DiskCache* const root, writable_of(*runtime));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  std::vector<Packed> entries;
  std::size_t left_out = 0;
  DIECAST_CHECK(root->read_all([&](const StoredEntry& stored) {
    const Artifact& artifact = stored.decoded.artifact;
    if (stored.decoded.fault != EntryFault::none) {
      ++left_out;
      print(cat("left out: ", stored.compiler, "/", stored.name, ": ",
                entry_fault_name(stored.decoded.fault)));
    } else if (targets.empty() || std::ranges::find(targets, artifact.target) != targets.end()) {
      entries.push_back({xxh3_128(entry_record(stored.file)), stored.compiler,
                         Bytes(stored.file.begin(), stored.file.end())});
    }
  }));
  if (entries.empty()) {
    return Error{ErrorCode::not_cached,
                 cat("nothing to export: ", root->root(), " has no entry",
                     targets.empty() ? "" : cat(" for ", join(options.targets, ", "))),
                 "fill it with `diecast warm`; `diecast cache ls` shows what it has"};
  }
  DIECAST_TRY(const int code, write(options.file, std::move(entries)));
  return left_out > 0 ? 1 : code;
}

Result<std::unique_ptr<Bundle>> open_bundle(const BundleArguments& options) {
  std::optional<Sha256Digest> pin;
  if (!options.sha256.empty()) {
    pin = parse_sha256(options.sha256);
    if (!pin) {
      return Error{ErrorCode::invalid_argument, "--sha256 takes 64 hexadecimal digits",
                   "give what `sha256sum FILE` prints"};
    }
  }
  const std::string path = std::filesystem::absolute(options.file).lexically_normal().string();
  return Bundle::open(path, pin);
}

Result<int> verify(const BundleArguments& options) {
  DIECAST_TRY(const auto bundle, open_bundle(options));
  DIECAST_TRY(const Sha256Digest digest, bundle->verify());
  print(cat(bundle->path(), ": ", bundle->size(), " kernels, ", human_bytes(bundle->bytes()),
            ", good"));
  print(cat("sha256 ", hex(digest)));
  return 0;
}

ArtifactKey key_of(ByteSpan record) {
  ArtifactKey key;
  const auto fields = Record::parse(record);
  for (const Record::Field& field : *fields) key.record.add(field.tag, field.bytes);
  key.digest = key.record.digest();
  return key;
}

// Entry by entry: killed midway it has imported a part, and run again it does the rest.
Result<int> import_all(const BundleArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(DiskCache* const root, writable_of(*runtime));
  DIECAST_TRY(const auto bundle, open_bundle(options));
  std::size_t damaged = 0, failed = 0;
  bundle->read_all([&](const Bundle::Stored& stored) {
    if (stored.decoded.fault != EntryFault::none) {
      ++damaged;
    } else if (!root->publish(key_of(entry_record(stored.file)), stored.decoded.artifact)) {
      ++failed;
    }
  });
  const CacheStatistics done = root->statistics();
  print(cat(root->root(), ": ", done.publishes, " imported, ", done.already_there,
            " already there, ", damaged, " damaged, ", failed, " not written"));
  if (failed > 0) return not_kept(*root, failed);
  return damaged + failed == 0 ? 0 : 1;
}

}  // namespace

Command add_bundle(CLI::App& app) {
  auto* command = app.add_subcommand("bundle", "One file of kernels; it is executable code");
  command->require_subcommand(1);
  auto options = std::make_shared<BundleArguments>();
  auto* make = command->add_subcommand("create", "What manifests name, compiled where needed");
  make->add_option("manifest", options->manifests, "Manifest files")->required();
  make->add_option("--jobs", options->jobs, "Compiles at a time (0: one a core)")
      ->check(CLI::Range(0, 1024));
  make->add_option("--add", options->own, "A template file of your own")->allow_extra_args(false);
  auto* out = command->add_subcommand("export", "Everything in the writable cache root");
  for (auto* writing : {make, out}) {
    writing->add_option("-o,--output", options->file, "The bundle to write")->required();
    writing->add_option("--target", options->targets, "These targets only")
        ->delimiter(',')
        ->allow_extra_args(false);
  }
  auto* in = command->add_subcommand("import", "Into the writable cache root");
  auto* check = command->add_subcommand("verify", "Read and check every byte");
  for (auto* reading : {in, check}) {
    reading->add_option("bundle", options->file, "The bundle")->required();
    reading->add_option("--sha256", options->sha256, "Refuse it unless this is its SHA-256");
  }
  return {command, [=] {
            return make->parsed()  ? create(*options)
                   : out->parsed() ? export_all(*options)
                   : in->parsed()  ? import_all(*options)
                                   : verify(*options);
          }};
}

}  // namespace diecast::tool
