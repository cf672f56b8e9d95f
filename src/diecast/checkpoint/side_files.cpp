// Finding, adapting and copying; see side_files.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/side_files.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace diecast {
namespace {

constexpr std::string_view kModelConfig = "config.json", kQuantConfig = "hf_quant_config.json";
constexpr std::uint64_t kConfigLimit = 16 << 20;
constexpr std::size_t kPiece = 1 << 20;

// Weights, ours or in other tools' formats, and their indices.
bool has_weights(std::string_view name) {
  constexpr std::array<std::string_view, 11> kEnds = {
      ".safetensors", ".index.json", ".bin", ".pt",   ".pth",    ".ckpt",
      ".gguf",        ".h5",         ".npz", ".onnx", ".msgpack"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

// Bytes of a file from its beginning, piece by piece; none at its end.
class Pieces {
 public:
  static Result<Pieces> open(FileSystem& files, const std::string& path) {
    Pieces out(files, path);
    out.file_ = Descriptor(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK, 0));
    if (!out.file_) return file_error("open", path, out.file_.number());
    return out;
  }
  Result<ByteSpan> next() {
    std::size_t got = 0;
    while (got < piece_.size()) {
      const ssize_t read =
          files_->read_at(file_.number(), piece_.data() + got, piece_.size() - got, offset_);
      if (read < 0) return file_error("read", path_, static_cast<int>(read));
      if (read == 0) break;
      got += static_cast<std::size_t>(read);
      offset_ += static_cast<std::uint64_t>(read);
    }
    return ByteSpan(piece_).first(got);
  }

 private:
  Pieces(FileSystem& files, std::string path)
      : files_(&files), path_(std::move(path)), piece_(kPiece) {}
  FileSystem* files_;
  std::string path_;
  Descriptor file_;
  Bytes piece_;
  std::uint64_t offset_ = 0;
};

bool equal(ByteSpan a, ByteSpan b) { return std::ranges::equal(a, b); }

// Whether the file at `path` is what `wanted` says, which else is the file of that name in `from`.
Result<bool> is_there(const SideFile& wanted, const std::string& from, const std::string& path,
                      FileSystem& files) {
  DIECAST_TRY(Pieces there, Pieces::open(files, path));
  if (wanted.text) {
    ByteSpan rest = as_bytes(*wanted.text);
    for (;;) {
      DIECAST_TRY(const ByteSpan piece, there.next());
      if (piece.empty()) return rest.empty();
      if (piece.size() > rest.size() || !equal(piece, rest.first(piece.size()))) return false;
      rest = rest.subspan(piece.size());
    }
  }
  DIECAST_TRY(Pieces source, Pieces::open(files, from + wanted.name));
  for (;;) {
    DIECAST_TRY(const ByteSpan one, source.next());
    DIECAST_TRY(const ByteSpan other, there.next());
    if (!equal(one, other)) return false;
    if (one.empty()) return true;
  }
}

Result<bool> exists_at(const std::string& path, FileSystem& files) {
  struct stat status;
  const int found = files.status_at(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (found < 0 && found != -ENOENT) return file_error("write", path, found);
  return found >= 0;
}

// A link counts as what it leads to, and as nothing where that is gone.
Result<bool> is_regular(const std::string& path, FileSystem& files) {
  struct stat status;
  const int found = files.status_at(AT_FDCWD, path.c_str(), &status, 0);
  if (found < 0 && found != -ENOENT) return file_error("read", path, found);
  return found >= 0 && S_ISREG(status.st_mode);
}

Result<void> copy_to(AtomicFile& out, const SideFile& file, const std::string& from,
                     FileSystem& files) {
  if (file.text) return out.write(as_bytes(*file.text));
  DIECAST_TRY(Pieces source, Pieces::open(files, from + file.name));
  for (;;) {
    DIECAST_TRY(const ByteSpan piece, source.next());
    if (piece.empty()) return {};
    DIECAST_CHECK(out.write(piece));
  }
}

}  // namespace

Result<SideFiles> SideFiles::find(const Checkpoint& input, const Plan& plan, FileSystem& files) {
  SideFiles out;
  if (!input.in_folder()) return out;
  out.from_ = input.folder() + "/";
  const Descriptor folder(files,
                          files.open_at(AT_FDCWD, out.from_.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!folder) return file_error("open", out.from_, folder.number());
  std::vector<std::string> names;
  const int listed = files.list_directory(folder.number(), [&](std::string_view name) {
    if (!name.starts_with('.') && !has_weights(name) && name != input.index_name())
      names.emplace_back(name);
    return true;
  });
  if (listed < 0) return file_error("list", out.from_, listed);
  for (std::string& name : names) {
    DIECAST_TRY(const bool regular, is_regular(out.from_ + name, files));
    if (regular) out.list_.push_back({std::move(name), {}});
  }
  DIECAST_CHECK(out.adapt(plan, files));
  std::ranges::sort(out.list_, {}, &SideFile::name);
  return out;
}

Result<void> SideFiles::adapt(const Plan& plan, FileSystem& files) {
  const auto config = std::ranges::find(list_, kModelConfig, &SideFile::name);
  const auto becomes = [&](Action action) {
    return std::ranges::any_of(plan.tensors, [&](auto& each) { return each.action == action; });
  };
  if (becomes(Action::dequantize))
    return drop_quantization(config == list_.end() ? nullptr : &*config, files);
  if (!becomes(Action::quantize) || config == list_.end()) return {};
  std::optional<std::string> quantized = hf_quant_config(plan);
  if (!quantized) {
    notes_.emplace_back(
        "config.json says nothing of the quantization: engines read no row-scaled weights");
    return {};
  }
  DIECAST_TRY(const Bytes text, read_file(files, from_ + config->name, kConfigLimit));
  config->text = quantized_model_config(file_text(text), plan);
  if (!config->text) {
    notes_.emplace_back(
        "config.json is copied as it is: it is no JSON object, or has a quantization_config");
    return {};
  }
  const auto old = std::ranges::find(list_, kQuantConfig, &SideFile::name);
  if (old != list_.end()) list_.erase(old);
  list_.push_back({std::string(kQuantConfig), std::move(quantized)});
  notes_.emplace_back(
      "config.json and hf_quant_config.json say NVFP4 as ModelOpt does; activations are not "
      "calibrated: every input_scale is 1.0");
  return {};
}

// What ModelOpt's exporter, or ours, has added.
Result<void> SideFiles::drop_quantization(SideFile* config, FileSystem& files) {
  if (config != nullptr) {
    DIECAST_TRY(const Bytes text, read_file(files, from_ + config->name, kConfigLimit));
    config->text = plain_model_config(file_text(text));
  }
  const auto said = std::ranges::find(list_, kQuantConfig, &SideFile::name);
  if (said == list_.end()) return {};
  DIECAST_TRY(const Bytes text, read_file(files, from_ + said->name, kConfigLimit));
  if (says_nvfp4(nlohmann::ordered_json::parse(file_text(text), nullptr, false))) list_.erase(said);
  return {};
}

Result<void> SideFiles::check_room(const std::string& folder, FileSystem& files) const {
  for (const SideFile& file : list_) {
    const std::string path = folder + file.name;
    DIECAST_TRY(const bool exists, exists_at(path, files));
    if (!exists) continue;
    DIECAST_TRY(const bool same, is_there(file, from_, path, files));
    if (same) continue;
    return Error{
        ErrorCode::file_exists,
        cat("the folder ", quote(folder, 1000), " has another ", quote(file.name), " already"),
        "name a new folder, or remove that file first"};
  }
  return {};
}

Result<void> SideFiles::write(const std::string& folder, FileSystem& files) const {
  for (const SideFile& file : list_) {
    const std::string path = folder + file.name;
    DIECAST_TRY(const bool exists, exists_at(path, files));
    if (exists) continue;  // check_room() has seen that it is the same
    DIECAST_TRY(AtomicFile out, AtomicFile::create(files, path));
    DIECAST_CHECK(copy_to(out, file, from_, files));
    DIECAST_CHECK(out.commit());
  }
  return {};
}

}  // namespace diecast
