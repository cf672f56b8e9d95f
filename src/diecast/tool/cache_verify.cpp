// diecast cache verify: reads and checks every byte; with --rebuild compiles each entry's source
// once more and compares the machine code.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

namespace diecast::tool {
namespace {

struct Count {
  std::size_t good = 0, damaged = 0, rebuilt = 0, different = 0, other_compiler = 0;
};

// The entry's source stands in its key: no template is needed to compile it again.
Result<void> rebuild(Runtime& runtime, const Artifact& artifact, ByteSpan record, Count& count) {
  const auto compiler = runtime.compiler(artifact.target);
  if (!compiler || (*compiler)->identity() != artifact.compiler) {
    ++count.other_compiler;
    return {};
  }
  const auto text = key_field(record, KeyTag::source);
  const Source source{artifact.symbol + ".cu", artifact.symbol,
                      std::string(text ? text->text() : std::string_view())};
  DIECAST_TRY(const Artifact again, (*compiler)->compile(source, artifact.target));
  ++count.rebuilt;
  if (again.payload == artifact.payload) return {};
  ++count.different;
  print(cat("different: ", artifact.spelling, ": ", artifact.payload.size(), " bytes here, ",
            again.payload.size(), " compiled again"));
  return {};
}

class Verification {
 public:
  Verification(Runtime& runtime, bool rebuilds) : runtime_(runtime), rebuilds_(rebuilds) {}

  void look(const std::string& where, const DecodedEntry& decoded, ByteSpan file) {
    if (decoded.fault != EntryFault::none) {
      ++count_.damaged;
      print(cat("damaged: ", where, ": ", entry_fault_name(decoded.fault)));
      return;
    }
    ++count_.good;
    if (!rebuilds_ || failed_) return;
    if (auto done = rebuild(runtime_, decoded.artifact, entry_record(file), count_); !done) {
      failed_ = done.error();
    }
  }

  // What no entry covers: the SHA-256 of the whole.
  void look_at_whole(Bundle& bundle, std::size_t damaged_before) {
    if (count_.damaged > damaged_before) return;
    const auto whole = bundle.verify();
    if (whole) return;
    ++count_.damaged;
    print(cat("damaged: ", whole.error().what));
  }
  std::size_t damaged() const { return count_.damaged; }

  Result<int> end() const {
    if (failed_) return *failed_;
    if (rebuilds_ && count_.good > 0 && count_.rebuilt == 0) {
      return Error{ErrorCode::compiler_unavailable,
                   cat("none of the ", count_.good,
                       " entries could be compiled again: they are by "
                       "other compilers than those found here"),
                   "set DIECAST_NVRTC to the one that made them (`diecast cache stats` names it)"};
    }
    print(cat(count_.good, " good, ", count_.damaged, " damaged",
              rebuilds_ ? cat("; ", count_.rebuilt, " compiled again, ", count_.different,
                              " different, ", count_.other_compiler, " by other compilers")
                        : ""));
    return count_.damaged + count_.different == 0 ? 0 : 1;
  }

 private:
  Runtime& runtime_;
  const bool rebuilds_;
  Count count_;
  std::optional<Error> failed_;
};

Result<int> verify(bool rebuilds) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  Verification verification(*runtime, rebuilds);
  for (const CacheRoots::Layer& layer : roots->layers()) {
    if (layer.bundle) {
      const std::size_t before = verification.damaged();
      layer.bundle->read_all([&](const Bundle::Stored& stored) {
        verification.look(cat(layer.setting.path, " ", stored.key.hex()), stored.decoded,
                          stored.file);
      });
      verification.look_at_whole(*layer.bundle, before);
    } else {
      DIECAST_CHECK(layer.directory->read_all([&](const StoredEntry& stored) {
        verification.look(cat(layer.setting.path, "/v1/", stored.compiler, "/",
                              stored.name.substr(0, 2), "/", stored.name),
                          stored.decoded, stored.file);
      }));
    }
  }
  DIECAST_TRY(const int code, verification.end());
  const std::size_t left_out = runtime->refused_roots().size();
  if (left_out > 0) print(cat(left_out, " roots left out"));
  return left_out > 0 ? 1 : code;
}

}  // namespace

Command add_cache_verify(CLI::App& cache) {
  auto* command = cache.add_subcommand("verify", "Read and check every entry");
  auto rebuilds = std::make_shared<bool>(false);
  command->add_flag("--rebuild", *rebuilds, "Compile each again and compare the machine code");
  return {command, [rebuilds] { return verify(*rebuilds); }};
}

}  // namespace diecast::tool
