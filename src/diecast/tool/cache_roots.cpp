// The roots of a subcommand's runtime, and how they are shown; see cache_roots.h.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {

Result<CacheRoots*> roots_of(Runtime& runtime) {
  if (runtime.cache() != nullptr) return runtime.cache();
  const auto& refused = runtime.refused_roots();
  if (refused.empty()) {
    return Error{ErrorCode::invalid_argument, "there is no cache: it is off",
                 "set DIECAST_CACHE to an absolute directory of your own (and DIECAST_CACHE_POLICY "
                 "to auto)"};
  }
  Error first = refused[0].error;
  first.what = cat("there is no cache: ", first.what);
  return first;
}

Result<DiskCache*> writable_of(Runtime& runtime) {
  DIECAST_TRY(CacheRoots* const roots, roots_of(runtime));
  DiskCache* const root = roots->writable();
  if (root != nullptr && root->writable()) return root;
  const auto none = [](std::string what, std::string fix) {
    return Error{ErrorCode::invalid_argument, cat("no cache root may be written: ", what), fix};
  };
  if (RuntimeOptions::from_environment().cache_policy == CachePolicy::read_only)
    return none("the cache policy is read-only", "set DIECAST_CACHE_POLICY to auto");
  if (root != nullptr) {
    return none(cat(root->root(), " refuses writing"),
                cat("look at its owner, permissions and mount (ls -ld ", root->root(),
                    "), or name another rw: root in DIECAST_CACHE"));
  }
  for (const auto& [setting, error] : runtime.refused_roots()) {
    if (setting.kind == CacheRootSetting::Kind::read_write) return none(error.what, error.fix);
  }
  return none(runtime.cache_state(), "add rw:DIRECTORY, of your own, to DIECAST_CACHE");
}

void visit_entries(Bundle& bundle, const EntryVisitor& visit) {
  bundle.read_all([&](const Bundle::Stored& stored) {
    visit({bundle.path(), stored.key.hex(), stored.compiler, stored.decoded, stored.file});
  });
}

Result<void> visit_entries(const CacheRoots::Layer& layer, const EntryVisitor& visit) {
  if (layer.bundle) {
    visit_entries(*layer.bundle, visit);
    return {};
  }
  return layer.directory->read_all([&](const StoredEntry& stored) {
    const std::string key = stored.name.substr(0, stored.name.find('.'));
    visit(
        {cat(layer.setting.path, "/v1/", stored.compiler, "/", key.substr(0, 2), "/", stored.name),
         key, stored.compiler, stored.decoded, stored.file});
  });
}

std::string damage_line(const FoundEntry& entry) {
  const bool named = entry.file.ends_with(entry.key + ".dce");
  return cat("damaged: ", entry.file, named ? "" : " " + entry.key, ": ",
             entry_fault_name(entry.decoded.fault));
}

nlohmann::ordered_json json_of(const CacheRootSetting& root) {
  return {{"root", root.path}, {"kind", root_kind(root)}};
}

nlohmann::ordered_json json_of(const Error& error) {
  return {{"code", code_word(error.code)}, {"what", error.what}, {"fix", error.fix}};
}

nlohmann::ordered_json json_of(const FoundEntry& damaged) {
  return {{"file", damaged.file},
          {"key", damaged.key},
          {"compiler", damaged.compiler},
          {"fault", entry_fault_name(damaged.decoded.fault)}};
}

nlohmann::ordered_json left_out_of(const Runtime& runtime) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& [setting, error] : runtime.refused_roots()) {
    nlohmann::ordered_json one = json_of(setting);
    one.update(json_of(error));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace diecast::tool
