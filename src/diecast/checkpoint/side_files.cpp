// Finding, adapting and copying; see side_files.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/select/model_config.h>
#include <diecast/checkpoint/side_files.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

namespace diecast {
namespace {

constexpr std::size_t kPiece = 1 << 20;

// Weights, ours or in other tools' formats, and their indices.
bool has_weights(std::string_view name) {
  constexpr std::array<std::string_view, 11> kEnds = {".safetensors", ".bin",  ".pt",     ".pth",
                                                      ".ckpt",        ".gguf", ".h5",     ".npz",
                                                      ".npy",         ".onnx", ".msgpack"};
  if (name.ends_with(".json") && name.find(".index.") != name.npos) return true;
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

// What a side file shall hold, piece by piece; no bytes at its end.
class Pieces {
 public:
  static Pieces of(std::string_view text) {
    Pieces out;
    out.text_ = as_bytes(text);
    out.size_ = text.size();
    return out;
  }
  static Result<Pieces> of(FileSystem& files, const std::string& path) {
    Pieces out;
    out.files_ = &files;
    out.path_ = path;
    out.piece_.resize(kPiece);
    out.file_ = Descriptor(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK, 0));
    if (!out.file_) return file_error("open", path, out.file_.number());
    struct stat status;
    const int known = files.status(out.file_.number(), &status);
    if (known < 0) return file_error("read", path, known);
    out.size_ = static_cast<std::uint64_t>(status.st_size);
    return out;
  }

  std::uint64_t size() const { return size_; }
  Result<ByteSpan> next() {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size_ - at_));
    const std::uint64_t from = std::exchange(at_, at_ + count);
    if (!file_) return text_.subspan(from, count);
    const int read = read_exactly(*files_, file_.number(), piece_.data(), count, from);
    if (read < 0) return file_error("read", path_, read);
    return ByteSpan(piece_).first(count);
  }

 private:
  Pieces() = default;
  ByteSpan text_;  // where there is no file
  FileSystem* files_ = nullptr;
  std::string path_;
  Descriptor file_;
  Bytes piece_;
  std::uint64_t size_ = 0, at_ = 0;
};

Result<Pieces> pieces_of(const SideFile& wanted, const std::string& from, FileSystem& files) {
  if (wanted.text) return Pieces::of(*wanted.text);
  return Pieces::of(files, from + wanted.name);
}

// Whether the file at `path` holds the same.
Result<bool> is_there(Pieces wanted, const std::string& path, FileSystem& files) {
  DIECAST_TRY(Pieces there, Pieces::of(files, path));
  if (there.size() != wanted.size()) return false;
  for (;;) {
    DIECAST_TRY(const ByteSpan one, wanted.next());
    DIECAST_TRY(const ByteSpan other, there.next());
    if (!std::ranges::equal(one, other)) return false;
    if (one.empty()) return true;
  }
}

Result<void> copy_to(AtomicFile& out, Pieces wanted) {
  for (;;) {
    DIECAST_TRY(const ByteSpan piece, wanted.next());
    if (piece.empty()) return {};
    DIECAST_CHECK(out.write(piece));
  }
}

Result<bool> exists_at(const std::string& path, FileSystem& files) {
  struct stat status;
  const int found = files.status_at(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (found < 0 && found != -ENOENT) return file_error("write", path, found);
  return found >= 0;
}

Error other_file(const std::string& path) {
  return {ErrorCode::file_exists, cat("another ", quote(path, 1000), " is there already"),
          "name a new folder, move that file away, or replace it with --overwrite"};
}

// What a folder beside the weights becomes a part of the output by.
constexpr std::size_t kFolderFiles = 32;
constexpr std::uint64_t kFolderBytes = 64 << 20;

// "1_Pooling", as sentence-transformers names what comes behind a model.
bool is_numbered(std::string_view folder) {
  const std::size_t digits = folder.find_first_not_of("0123456789");
  return digits != folder.npos && digits > 0 && folder[digits] == '_';
}

}  // namespace

bool is_draft_file(std::string_view name) {
  return name.ends_with(".safetensors") && (name.starts_with("mtp") || name.starts_with("nextn"));
}

Result<SideFiles> SideFiles::find(const Checkpoint& input, const Plan& plan, FileSystem& files) {
  SideFiles out;
  if (!input.in_folder()) return out;
  out.from_ = input.folder() + "/";
  DIECAST_TRY(const std::vector<FolderEntry> entries, folder_entries(out.from_, files));
  std::vector<std::string> left;
  for (const FolderEntry& entry : entries) {
    const std::string& name = entry.name;
    if (!entry.folder && name != input.index_name() &&
        std::ranges::find(input.names(), name) == input.names().end()) {
      if (has_weights(name) && !is_draft_file(name))
        left.push_back(cat(quote(name), " (", human_bytes(entry.bytes), ")"));
      else
        out.list_.push_back({name, {}, entry.mode, entry.bytes});
    }
  }
  for (const FolderEntry& entry : entries)
    if (entry.folder) DIECAST_CHECK(out.add_folder(entry, files, left));
  if (!left.empty()) out.notes_.push_back(cat("not taken along: ", join(left, ", ")));
  DIECAST_CHECK(out.adapt(plan, files));
  std::ranges::sort(out.list_, {}, &SideFile::name);
  return out;
}

// All of it, or nothing; then it is named in `left`.
Result<void> SideFiles::add_folder(const FolderEntry& folder, FileSystem& files,
                                   std::vector<std::string>& left) {
  if (folder.link) {
    left.push_back(cat(quote(folder.name), " (a link to a folder)"));
    return {};
  }
  const std::string from = cat(from_, folder.name, "/");
  DIECAST_TRY(const std::vector<FolderEntry> inside, files_below(from, files));
  std::uint64_t bytes = 0;
  bool weights = false;
  for (const FolderEntry& file : inside) {
    bytes += file.bytes;
    weights = weights || has_weights(file.name);
  }
  const bool belongs = !weights || (is_numbered(folder.name) && named("modules.json") != nullptr);
  if (!belongs || inside.size() > kFolderFiles || bytes > kFolderBytes) {
    left.push_back(cat(quote(folder.name), " (a folder of ", human_bytes(bytes), ")"));
    return {};
  }
  for (const FolderEntry& file : inside)
    list_.push_back({cat(folder.name, "/", file.name), {}, file.mode, file.bytes});
  return {};
}

std::set<std::string> SideFiles::folders() const {
  std::set<std::string> out;
  for (const SideFile& file : list_)
    for (std::size_t slash = file.name.find('/'); slash != file.name.npos;
         slash = file.name.find('/', slash + 1))
      out.insert(file.name.substr(0, slash));
  return out;
}

SideFile* SideFiles::named(std::string_view name) {
  const auto found = std::ranges::find(list_, name, &SideFile::name);
  return found == list_.end() ? nullptr : &*found;
}

Result<void> SideFiles::adapt(const Plan& plan, FileSystem& files) {
  const auto becomes = [&](Action action) {
    return std::ranges::any_of(plan.tensors, [&](auto& each) { return each.action == action; });
  };
  if (becomes(Action::dequantize) && !becomes(Action::quantize)) {
    const auto stays = [](const PlannedTensor& each) { return each.reason == kStaysQuantized; };
    const auto was_fp8 = [](const PlannedTensor& each) { return each.scaled.has_value(); };
    const bool fp8 = std::ranges::any_of(plan.tensors, was_fp8);
    return drop_quantization(std::ranges::any_of(plan.tensors, stays), fp8, files);
  }
  SideFile* const config = named(kModelConfig);
  if (!becomes(Action::quantize) || config == nullptr) return {};
  DIECAST_TRY(const Bytes text, read_file(files, from_ + config->name, kConfigLimit));
  config->text = quantized_model_config(file_text(text), plan);
  // Another tool's says what is no longer true. (This may move what `config` points to.)
  const mode_t mode = config->mode;
  const std::optional<std::string> said = config->text;
  std::erase_if(list_, [](const SideFile& file) { return file.name == kQuantConfig; });
  if (!is_engine_form(plan)) {
    notes_.emplace_back(
        "config.json says nothing of the quantization: engines read no row-scaled weights");
    return {};
  }
  if (!said) {
    notes_.emplace_back(
        "config.json says nothing of this quantization: it is no JSON object that could");
    return {};
  }
  if (auto quantized = hf_quant_config(plan, *said))
    list_.push_back({std::string(kQuantConfig), std::move(quantized), mode});
  notes_.push_back(
      cat("config.json says ", word(plan.form.format), " as ", word(plan.form.config), " does"));
  if (plan.form.format == WeightFormat::nvfp4 && !plan.calibrated && !plan.converted)
    notes_.back() +=
        cat("; activations are not calibrated: every input_scale is ", plan.input_scale);
  return {};
}

// What ModelOpt's exporter, or ours, has added; `some_stay`: of weights that stay quantized, too.
Result<void> SideFiles::drop_quantization(bool some_stay, bool fp8, FileSystem& files) {
  if (some_stay) {
    if (named(kModelConfig) != nullptr || named(kQuantConfig) != nullptr)
      notes_.emplace_back(
          "what config.json and hf_quant_config.json say of the quantization is kept: it is "
          "true of the weights that stay quantized alone");
    return {};
  }
  if (SideFile* const config = named(kModelConfig)) {
    DIECAST_TRY(const Bytes text, read_file(files, from_ + config->name, kConfigLimit));
    config->text = plain_model_config(file_text(text), fp8);
    if (!config->text && quantized_by(file_text(text)) != Quantized::no)
      notes_.emplace_back("config.json keeps its quantization_config, which is not NVFP4's");
  }
  if (named(kQuantConfig) == nullptr) return {};
  DIECAST_TRY(const Bytes text, read_file(files, cat(from_, kQuantConfig), kConfigLimit));
  if (fp8 || quantized_by(file_text(text)) == Quantized::nvfp4) {
    std::erase_if(list_, [](const SideFile& file) { return file.name == kQuantConfig; });
  } else {
    notes_.push_back(cat(kQuantConfig, " is copied as it is: it does not say NVFP4"));
  }
  return {};
}

Result<std::vector<StagedFile>> SideFiles::stage(const std::string& folder, bool overwrite,
                                                 FileSystem& files) const {
  std::vector<StagedFile> out;
  for (const SideFile& file : list_) {
    const std::string path = folder + file.name;
    DIECAST_TRY(const bool exists, exists_at(path, files));
    DIECAST_TRY(Pieces wanted, pieces_of(file, from_, files));
    if (exists) {
      DIECAST_TRY(const bool same, is_there(std::move(wanted), path, files));
      if (same) continue;
      if (!overwrite) return other_file(path);
      DIECAST_TRY(wanted, pieces_of(file, from_, files));  // once more from its beginning
    }
    DIECAST_TRY(AtomicFile staged, AtomicFile::create(files, path, file.mode));
    DIECAST_CHECK(copy_to(staged, std::move(wanted)));
    out.push_back({path, std::move(staged), exists});
  }
  return out;
}

Result<void> StagedFile::commit(FileSystem& files) {
  DIECAST_TRY(const bool exists, exists_at(path, files));
  if (exists && !replaces) return other_file(path);  // somebody else's, since
  return file.commit();
}

}  // namespace diecast
