// diecast cache verify: reads and checks every byte; with --rebuild compiles each entry's source
// once more and compares the machine code.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

struct VerifyArguments {
  bool rebuilds = false, json = false;
};

class Verification {
 public:
  Verification(Runtime& runtime, const VerifyArguments& options)
      : runtime_(runtime), options_(options) {}

  Result<void> look(const CacheRoots::Layer& layer) {
    const std::size_t damaged_before = damaged_.size();
    DIECAST_CHECK(visit_entries(layer, [&](const FoundEntry& entry) { look(entry); }));
    // What no entry covers: the SHA-256 of the whole.
    if (!layer.bundle || damaged_.size() > damaged_before) return {};
    const auto whole = layer.bundle->verify();
    if (whole) return {};
    tell(cat("damaged: ", whole.error().what));
    damaged_.push_back({{"file", layer.setting.path}, {"fault", code_word(whole.error().code)}});
    return {};
  }

  // The exit code, after the sums.
  Result<int> end() const {
    if (failed_) return *failed_;
    if (options_.rebuilds && good_ > 0 && rebuilt_ == 0) {
      return Error{ErrorCode::compiler_unavailable,
                   cat("none of the ", good_,
                       " entries could be compiled again: they are by "
                       "other compilers than those found here"),
                   "set DIECAST_NVRTC to the one that made them (`diecast cache stats` names it)"};
    }
    const std::size_t left_out = runtime_.refused_roots().size();
    tell(cat(good_, " good, ", damaged_.size(), " damaged",
             options_.rebuilds ? cat("; ", rebuilt_, " compiled again, ", different_.size(),
                                     " different, ", other_compiler_, " by other compilers")
                               : ""));
    if (left_out > 0) tell(cat(left_out, " roots left out"));
    if (options_.json) print_json(as_json());
    return damaged_.empty() && different_.empty() && left_out == 0 ? 0 : 1;
  }

 private:
  void tell(const std::string& line) const {
    if (!options_.json) print(line);
  }

  void look(const FoundEntry& entry) {
    if (entry.decoded.fault != EntryFault::none) {
      tell(damage_line(entry));
      damaged_.push_back(json_of(entry));
      return;
    }
    ++good_;
    if (!options_.rebuilds || failed_) return;
    if (auto done = rebuild(entry.decoded.artifact, entry_record(entry.bytes)); !done)
      failed_ = done.error();
  }

  // The entry's source stands in its key: no template is needed to compile it again.
  Result<void> rebuild(const Artifact& artifact, ByteSpan record) {
    const auto compiler = runtime_.compiler(artifact.target);
    if (!compiler || (*compiler)->identity() != artifact.compiler) {
      ++other_compiler_;
      return {};
    }
    const auto text = key_field(record, KeyTag::source);
    const Source source{artifact.symbol + ".cu", artifact.symbol,
                        std::string(text ? text->text() : std::string_view())};
    DIECAST_TRY(const Artifact again, (*compiler)->compile(source, artifact.target));
    ++rebuilt_;
    if (again.payload == artifact.payload) return {};
    tell(cat("different: ", artifact.spelling, ": ", artifact.payload.size(), " bytes here, ",
             again.payload.size(), " compiled again"));
    different_.push_back(artifact.spelling);
    return {};
  }

  nlohmann::ordered_json as_json() const {
    nlohmann::ordered_json out = {{"good", good_}, {"damaged", damaged_}};
    if (options_.rebuilds) {
      out["rebuilt"] = rebuilt_;
      out["different"] = different_;
      out["other_compiler"] = other_compiler_;
    }
    out["left_out"] = left_out_of(runtime_);
    return out;
  }

  Runtime& runtime_;
  const VerifyArguments options_;
  std::size_t good_ = 0, rebuilt_ = 0, other_compiler_ = 0;
  std::vector<nlohmann::ordered_json> damaged_;
  std::vector<std::string> different_;  // spellings
  std::optional<Error> failed_;
};

Result<int> verify(const VerifyArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime_to_look());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  Verification verification(*runtime, options);
  for (const CacheRoots::Layer& layer : roots->layers()) DIECAST_CHECK(verification.look(layer));
  return verification.end();
}

}  // namespace

Command add_cache_verify(CLI::App& cache) {
  auto* command = cache.add_subcommand("verify", "Read and check every entry");
  auto options = std::make_shared<VerifyArguments>();
  command->add_flag("--rebuild", options->rebuilds,
                    "Compile each again and compare the machine code");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return verify(*options); }};
}

}  // namespace diecast::tool
