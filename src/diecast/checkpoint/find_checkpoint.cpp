// Looking into folders; see find_checkpoint.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/find_checkpoint.h>
#include <fcntl.h>

#include <algorithm>
#include <vector>

namespace diecast {
namespace {

constexpr std::string_view kIndexEnd = ".safetensors.index.json";

bool exists(FileSystem& files, const std::string& path) {
  struct stat found = {};
  return files.status_at(AT_FDCWD, path.c_str(), &found, 0) >= 0;
}

Result<std::vector<std::string>> names_in(FileSystem& files, const std::string& folder) {
  const Descriptor open(files, files.open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!open) return file_error("open", folder, open.number());
  std::vector<std::string> out;
  const int listed = files.list_directory(open.number(), [&](std::string_view name) {
    if (!name.starts_with('.')) out.emplace_back(name);
    return true;
  });
  if (listed < 0) return file_error("list", folder, listed);
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> ending(const std::vector<std::string>& names, std::string_view end) {
  std::vector<std::string> out;
  std::ranges::copy_if(names, std::back_inserter(out),
                       [&](const std::string& name) { return name.ends_with(end); });
  return out;
}

// The snapshot that the cache's refs/main names; empty: there is none.
std::string main_snapshot(FileSystem& files, const std::string& top) {
  constexpr std::uint64_t kLongest = 1000;
  const auto read = read_file(files, top + "/refs/main", kLongest);
  if (!read) return {};
  const std::string folder = cat(top, "/snapshots/", trim(file_text(*read)));
  return folder.find("..") == folder.npos && is_folder(files, folder) ? folder : "";
}

// A folder with both usual names: the index, if the other is one of its files; the file, if those
// of the index are not there (somebody has saved the model again as one file).
Result<std::string_view> one_of_both(FileSystem& files, const std::string& folder) {
  const std::string path = cat(folder, "/", kCheckpointIndex);
  DIECAST_TRY(const Bytes text, read_file(files, path, kHeaderLimit));
  if (const auto index = parse_index(file_text(text), path)) {
    const auto is_it = [](const auto& tensor) { return tensor.second == kCheckpointFile; };
    const auto is_there = [&](const auto& tensor) {
      return exists(files, cat(folder, "/", tensor.second));
    };
    if (std::ranges::any_of(index->files, is_it)) return kCheckpointIndex;
    if (std::ranges::none_of(index->files, is_there)) return kCheckpointFile;
  }
  return Error{ErrorCode::invalid_argument,
               cat("the folder ", quote(folder, 1000), " has both ", kCheckpointFile, " and ",
                   kCheckpointIndex),
               "give the path of the one you mean"};
}

// What a folder without a checkpoint has in its place, and what to do.
Error no_checkpoint(const std::string& folder, const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::string where = cat("the folder ", quote(folder, 1000));
  if (has("adapter_config.json"))
    return {ErrorCode::not_supported, where + " has an adapter (LoRA), not a model",
            "merge it into its model first, with peft's merge_and_unload(), and save that"};
  if (has("model_index.json"))
    return {ErrorCode::not_supported, where + " has a pipeline of several models",
            cat("give the folder of one of them, such as ", quote(folder + "/transformer", 1000))};
  for (const std::string_view end : {".bin", ".pt", ".pth", ".gguf", ".h5"}) {
    const auto found = ending(names, end);
    if (found.empty()) continue;
    return {ErrorCode::not_supported,
            cat(where, " has ", quote(found[0]), " and no .safetensors file"),
            "save the model as .safetensors first, with transformers' save_pretrained()"};
  }
  return {ErrorCode::file_not_found,
          cat(where, " has neither ", kCheckpointFile, " nor ", kCheckpointIndex),
          "give the path of a .safetensors file or of the index of several"};
}

Error consolidated(const std::string& folder, const std::string& name) {
  return {ErrorCode::not_supported,
          cat("the folder ", quote(folder, 1000), " has only ", quote(name),
              ", Mistral's own format: engines read it as a whole, with its params.json"),
          "give the model in the form of transformers, or the path of one .safetensors file to "
          "convert that alone"};
}

Error several(const std::string& folder, const std::vector<std::string>& found) {
  return {ErrorCode::invalid_argument,
          cat("the folder ", quote(folder, 1000), " has ", found.size(), " checkpoints, such as ",
              quote(found[0]), " and ", quote(found[1])),
          "give the path of the one you mean"};
}

}  // namespace

bool is_folder(FileSystem& files, const std::string& path) {
  struct stat found = {};
  return files.status_at(AT_FDCWD, path.c_str(), &found, 0) >= 0 && S_ISDIR(found.st_mode);
}

std::string hub_folder(FileSystem& files, const std::string& id) {
  const std::size_t slash = id.find('/');
  if (slash == 0 || slash == id.npos || slash + 1 == id.size() || id.starts_with('.') ||
      id.find('/', slash + 1) != id.npos)
    return {};
  std::string cache = environment_variable("HF_HUB_CACHE");
  if (cache.empty()) {
    std::string home = environment_variable("HF_HOME");
    if (home.empty()) home = environment_variable("HOME") + "/.cache/huggingface";
    cache = home + "/hub";
  }
  return main_snapshot(files,
                       cat(cache, "/models--", id.substr(0, slash), "--", id.substr(slash + 1)));
}

std::string without_slashes(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

Result<CheckpointPlace> find_checkpoint(const std::string& path, FileSystem& files) {
  std::string folder = without_slashes(path);
  DIECAST_TRY(std::vector<std::string> names, names_in(files, folder));
  const auto has = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (has("snapshots") && has("refs")) {
    if (std::string main = main_snapshot(files, folder); !main.empty()) {
      folder = std::move(main);
      DIECAST_TRY(names, names_in(files, folder));
    }
  }
  if (has(kCheckpointFile) && has(kCheckpointIndex)) {
    DIECAST_TRY(const std::string_view name, one_of_both(files, folder));
    return CheckpointPlace{folder, std::string(name)};
  }
  for (const std::string_view usual : {kCheckpointIndex, kCheckpointFile})
    if (has(usual)) return CheckpointPlace{folder, std::string(usual)};
  if (has("adapter_config.json")) return no_checkpoint(folder, names);
  for (const std::string_view end : {kIndexEnd, std::string_view(".safetensors")}) {
    const std::vector<std::string> found = ending(names, end);
    if (!found.empty() && std::ranges::all_of(found, [](const std::string& name) {
          return name.starts_with("consolidated");
        }))
      return consolidated(folder, found[0]);
    if (found.size() == 1) return CheckpointPlace{folder, found[0]};
    if (found.size() > 1) return several(folder, found);
  }
  return no_checkpoint(folder, names);
}

}  // namespace diecast
