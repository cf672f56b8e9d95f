// The files that a conversion makes: none has a name before all are complete. Internal to
// convert().
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/checkpoint/side_files.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast {

class ConvertOutputs {
 public:
  // Errors as convert()'s.
  static Result<ConvertOutputs> create(const Checkpoint& input, const Plan& plan,
                                       const std::string& output, bool overwrite,
                                       FileSystem& files);
  ConvertOutputs(ConvertOutputs&& other) noexcept;
  ConvertOutputs& operator=(ConvertOutputs&&) = delete;
  ~ConvertOutputs();  // without commit() folders that were made are gone again

  std::vector<SafetensorsWriter>& writers() { return writers_; }
  const SideFiles& side_files() const { return side_files_; }
  std::uint64_t data_bytes() const;
  std::uint64_t file_bytes() const;

  // Names what stands beside them, the files, and last the index: what has none is no checkpoint.
  // Errors: io_error, file_exists (somebody else has made a side file meanwhile).
  Result<void> commit();

 private:
  ConvertOutputs(const Checkpoint& input, FileSystem& files) : input_(&input), files_(&files) {}
  Result<void> check_space(const Plan& plan, const std::string& output) const;
  Result<void> make(const std::string& folder);
  Result<void> make_folder(const std::string& output);
  Result<void> refuse_others() const;
  Result<void> refuse_finished(const std::string& path, bool finished) const;
  Result<void> drop_index();
  Result<void> write_index();

  const Checkpoint* input_;
  FileSystem* files_;
  std::string folder_;             // ends in a slash; empty where the output is a file
  std::vector<std::string> made_;  // folders that were made here, the outermost first
  bool overwrite_ = false;
  std::vector<SafetensorsWriter> writers_;
  SideFiles side_files_;
  std::vector<StagedFile> staged_;  // of these, what is not there yet
};

}  // namespace diecast
