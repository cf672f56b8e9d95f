// Reading a checkpoint of one file or of several: one header for all of them, and every tensor from
// the file that has it.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/safetensors.h>
#include <diecast/checkpoint/safetensors_index.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// What a folder's checkpoint is found by: one of both names.
inline constexpr std::string_view kCheckpointFile = "model.safetensors";
inline constexpr std::string_view kCheckpointIndex = "model.safetensors.index.json";

class Checkpoint {
 public:
  // `path`: a .safetensors file; an index (*.json) of several beside it; or a folder that has
  // either (find_checkpoint.h). The files of an index may have tensors that it does not list. With
  // `strict` unknown header fields are errors. Errors: file_not_found (a file of the index too),
  // invalid_argument (a folder with several), io_error, not_supported (files that are no
  // .safetensors), file_corrupt (a file or the index, a tensor that is in two files or not where
  // the index says).
  static Result<Checkpoint> open(const std::string& path, bool strict = false,
                                 FileSystem& files = system_files());

  const CheckpointHeader& header() const { return header_; }
  const std::string& path() const { return path_; }  // as it was given

  const std::string& folder() const { return folder_; }  // where its files are
  // Whether it was given as a folder or an index: what is made of it is a folder too.
  bool in_folder() const { return in_folder_; }
  const std::vector<std::string>& names() const { return names_; }  // of its files, in its folder
  const std::vector<SafetensorsReader>& files() const { return files_; }
  // The index and its name in the folder; none where there is but the one file.
  const std::optional<SafetensorsIndex>& index() const { return index_; }
  const std::string& index_name() const { return index_name_; }

  // Bytes [offset, offset + out.size()) of a tensor of header(). Errors as SafetensorsReader's.
  Result<void> read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const;

  // Every file is as it was at open(), see SafetensorsReader. Errors: io_error.
  Result<void> unchanged() const;

 private:
  Checkpoint() = default;
  Result<void> open_index(FileSystem& files, bool strict);
  Result<void> check_places() const;
  std::string path_, folder_, index_name_;
  bool in_folder_ = false;
  std::vector<std::string> names_;
  std::vector<SafetensorsReader> files_;
  std::optional<SafetensorsIndex> index_;
  CheckpointHeader header_;
};

}  // namespace diecast
