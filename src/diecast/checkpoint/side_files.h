// What stands beside a model's weights in its folder (its config, its tokenizer) and goes along
// with them, so that the output is a folder that engines load.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/folder_entries.h>
#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct SideFile {
  std::string name;                 // in a folder "1_Pooling/config.json"
  std::optional<std::string> text;  // none: the input's, to the bit
  mode_t mode = 0777;               // its permissions, at most
  std::uint64_t size = 0;           // of the input's, in bytes
  std::uint64_t bytes() const { return text ? text->size() : size; }
};

// Written, but for its name.
struct StagedFile {
  std::string path;
  AtomicFile file;
  bool replaces = false;  // another file of that name
  // Errors: file_exists (there is a file of that name by now), io_error.
  Result<void> commit(FileSystem& files);
};

// mtp*.safetensors, nextn*.safetensors: weights of a draft model, which engines look for beside
// those of the index.
bool is_draft_file(std::string_view name);

class SideFiles {
 public:
  // Of a checkpoint that was given as a folder or an index every regular file beside its own but
  // for hidden ones and other weights, in whatever format (those of a draft model, mtp*.safetensors
  // and nextn*.safetensors, go along); and folders of at most 32 files and 64 MiB without weights,
  // or with those of a module that sentence-transformers puts behind the model ("2_Dense", beside a
  // modules.json). A note names what is left, with its bytes. config.json of a model that is
  // quantized says so, as does ModelOpt's hf_quant_config.json that is added; of one that is
  // dequantized neither does, unless some of its weights stay quantized. Errors: io_error.
  static Result<SideFiles> find(const Checkpoint& input, const Plan& plan,
                                FileSystem& files = system_files());

  const std::vector<SideFile>& list() const { return list_; }       // by name
  const std::vector<std::string>& notes() const { return notes_; }  // a sentence each
  std::set<std::string> folders() const;  // that files of the list stand in: "a" and "a/b"

  // All that is not in the folder yet; `folder` ends in a slash, and has folders(). Errors:
  // file_exists (another file of such a name, unless it is to be overwritten), io_error.
  Result<std::vector<StagedFile>> stage(const std::string& folder, bool overwrite,
                                        FileSystem& files) const;

 private:
  Result<void> add_folder(const FolderEntry& folder, FileSystem& files,
                          std::vector<std::string>& left);
  Result<void> adapt(const Plan& plan, FileSystem& files);
  Result<void> drop_quantization(bool some_stay, bool fp8, FileSystem& files);
  SideFile* named(std::string_view name);  // null: there is none

  std::string from_;  // the input's folder, with a slash at its end
  std::vector<SideFile> list_;
  std::vector<std::string> notes_;
};

}  // namespace diecast
