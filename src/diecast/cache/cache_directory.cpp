// Creating and opening the folders of a cache root. See cache_directory.h for the layout.
#include <diecast/base/text.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/trusted_directory.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr char kMarker[] = "DIECAST-CACHE";
constexpr char kMarkerText[] = "diecast cache\nlayout 1\n";
constexpr char kTag[] = "CACHEDIR.TAG";
// The first line is the signature that backup programs look for.
constexpr char kTagText[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory holds compiled kernels of diecast; it can be deleted at any time.\n";
constexpr std::string_view kVersion = "v1";
constexpr std::string_view kEntryEnding = ".dce";

// Files beside the compilers' folders.
bool is_shared_file(std::string_view name) {
  return name == "lock" || name == "gc" || name == "counts";
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

int create_file(FileSystem& files, int directory, const char* name, std::string_view text) {
  Descriptor file(files,
                  files.open_at(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (file.number() == -EEXIST) return 0;
  if (!file) return file.number();
  const int result = write_exactly(files, file.number(), text.data(), text.size(), 0);
  const int closed = file.close();
  return result < 0 ? result : closed;
}

// A courtesy to backup programs: may fail, and then leaves no file without the signature.
void create_tag(FileSystem& files, int directory) {
  if (create_file(files, directory, kTag, kTagText) < 0) files.unlink_at(directory, kTag, 0);
}

// Whether a folder so far below a root, and all below it, has names of ours alone.
bool has_ours_alone(FileSystem& files, int folder, int depth) {
  std::vector<std::string> below;
  bool ours = true;
  const int listed = files.list_directory(folder, [&](std::string_view name) {
    const bool is_folder = depth == 0   ? name == kVersion
                           : depth == 1 ? is_compiler_identity(name)
                                        : depth == 2 && is_shard_name(name);
    if (is_folder) below.emplace_back(name);
    ours = is_folder || (depth == 0 && name == "lost+found") ||
           (depth == 1 && is_shared_file(name)) ||
           (depth == 3 && (is_entry_name(name) || parse_temporary_name(name)));
    return ours;
  });
  return listed >= 0 && ours && std::ranges::all_of(below, [&](const std::string& name) {
           constexpr int kHow = O_PATH | O_DIRECTORY | O_NOFOLLOW;
           const Descriptor next(files, files.open_at(folder, name.c_str(), kHow, 0));
           return next && has_ours_alone(files, next.number(), depth + 1);
         });
}

// Empty (a new disk's lost+found does not count), or somebody is creating this very cache, or its
// owner has tagged it as a cache already and thereby said that it may go, or a cleaner of old files
// has left it so: nobody reads the marker, which is older than all that is in use.
Result<void> check_empty(FileSystem& files, int directory, const std::string& root) {
  std::string other;
  bool tagged = false;
  const int listed = files.list_directory(directory, [&](std::string_view name) {
    tagged = tagged || name == kMarker || name == kTag;
    if (name != "lost+found") other = name;
    return true;
  });
  if (listed < 0) return file_error("read", root, listed);
  if (other.empty() || tagged || has_ours_alone(files, directory, 0)) return {};
  return Error{ErrorCode::invalid_argument,
               cat("the cache root ", quote(root, 1000), " holds ", quote(other),
                   " and is not marked as a cache of diecast (no file ", kMarker, ")"),
               "set DIECAST_CACHE to a new or empty directory"};
}

// The result of making sure that the marker is there: 0 or -errno.
Result<int> mark(FileSystem& files, int directory, const std::string& root) {
  struct stat status;
  const int found = files.status_at(directory, kMarker, &status, AT_SYMLINK_NOFOLLOW);
  if (found != -ENOENT) return found;
  DIECAST_CHECK(check_empty(files, directory, root));
  const int marked = create_file(files, directory, kMarker, kMarkerText);
  if (marked == 0) create_tag(files, directory);
  return marked;
}

}  // namespace

Result<CacheDirectory> CacheDirectory::open(FileSystem& files, const std::string& root,
                                            RootAccess access) {
  if (access == RootAccess::read) return open_read_only(files, root);
  DIECAST_CHECK(check_own_rights());
  DIECAST_TRY(Descriptor top, open_trusted_directory(files, root, access == RootAccess::create));
  CacheDirectory out(files);
  DIECAST_TRY(const int marked, mark(files, top.number(), root));
  if (marked < 0 && !refuses_writing(marked))
    return file_error("create the marker of", root, marked);
  if (marked < 0) out.refuse(marked);
  DIECAST_CHECK(out.open_versions(std::move(top), root));
  return out;
}

Result<CacheDirectory> CacheDirectory::open_read_only(FileSystem& files, const std::string& root) {
  DIECAST_CHECK(check_own_rights());
  DIECAST_TRY(Descriptor top, open_trusted_directory(files, root, /*create=*/false));
  CacheDirectory out(files);
  out.writable_ = false;
  DIECAST_CHECK(out.open_versions(std::move(top), root));
  return out;
}

Result<void> CacheDirectory::open_versions(Descriptor top, const std::string& root) {
  top_ = std::move(top);
  versions_ = folder(top_.number(), kVersion.data(), writable_);
  const int opened = versions_.number();
  if (refuses_writing(opened)) refuse(opened);
  if (opened == -ENOENT || refuses_writing(opened)) return {};  // nothing to read, nowhere to write
  const std::string path = cat(root, "/", kVersion);
  if (opened < 0) return file_error("open", path, opened);
  struct stat status;
  const int result = files_->status(opened, &status);
  if (result < 0) return file_error("read", path, result);
  if (!is_private(status)) {
    return Error{ErrorCode::unsafe_directory,
                 cat(quote(path, 1000), " belongs to another user or can be written by one: ",
                     "whoever can write there could run code as this user"),
                 cat("chmod go-w ", quote(path, 1000),
                     " if it is yours, or set DIECAST_CACHE to a "
                     "new directory")};
  }
  // Else what is there would be as good as not there, and nothing would say so.
  const Descriptor read(*files_, files_->open_at(opened, ".", O_RDONLY | O_DIRECTORY, 0));
  return read.number() == -EACCES ? unread(root, path, read.number()) : Result<void>();
}

Descriptor CacheDirectory::folder(int parent, const char* name, bool create) const {
  int file = -ENOENT;
  // Twice: somebody may remove an empty folder between its creation and its opening.
  for (int tries = 0; tries < 3 && file == -ENOENT; ++tries) {
    if (tries > 0) {
      const int made = create ? files_->make_directory_at(parent, name, 0700) : -ENOENT;
      if (made < 0 && made != -EEXIST) return {*files_, made};
    }
    file = files_->open_at(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
  }
  return {*files_, file};
}

Descriptor CacheDirectory::entry(std::string_view compiler, const Digest& digest) const {
  if (!versions_) return {*files_, -ENOENT};
  // O_NONBLOCK: a FIFO under the name must not hang the lookup.
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
  const std::string name = entry_name(digest);
  const std::string path = cat(compiler, "/", shard_name(digest), "/", name);
  Descriptor file(*files_, files_->open_at(versions(), path.c_str(), kHow, 0));
  if (file.number() != -ENOSYS) return file;
  const Descriptor folder = shard(compiler, digest, false);
  if (!folder) return {*files_, folder.number()};
  return {*files_, files_->open_at(folder.number(), name.c_str(), kHow, 0)};
}

bool CacheDirectory::is_private_path(std::string_view compiler, const Digest& digest) const {
  const std::string identity(compiler), shard = cat(compiler, "/", shard_name(digest));
  struct stat status;
  const auto safe = [&](const std::string& path) {
    return files_->status_at(versions(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0 ||
           diecast::is_private(status);
  };
  return !versions_ || (safe(identity) && safe(shard));
}

Descriptor CacheDirectory::shard(std::string_view compiler, const Digest& digest,
                                 bool create) const {
  if (!versions_) return {*files_, -ENOENT};
  const Descriptor identity = folder(versions(), std::string(compiler).c_str(), create);
  if (!identity) return {*files_, identity.number()};
  return folder(identity.number(), shard_name(digest).c_str(), create);
}

std::vector<std::string> CacheDirectory::compilers(int* trouble) const {
  std::vector<std::string> names;
  if (!versions_) return names;
  const int listed = files_->list_directory(versions(), [&](const char* name) {
    if (is_compiler_identity(name)) names.emplace_back(name);
    return true;
  });
  if (trouble != nullptr && listed < 0) *trouble = listed;
  std::ranges::sort(names, [](const auto& a, const auto& b) { return is_older_identity(b, a); });
  return names;
}

std::vector<CacheDirectory> CacheDirectory::older() const {
  const std::int64_t ours = *parse_integer(kVersion.substr(1));
  std::vector<CacheDirectory> out;
  files_->list_directory(top_.number(), [&](std::string_view name) {
    const auto version = name.starts_with('v') ? parse_integer(name.substr(1)) : std::nullopt;
    if (!version || *version < 0 || *version >= ours || name != cat("v", *version)) return true;
    CacheDirectory one(*files_);
    one.versions_ = folder(top_.number(), std::string(name).c_str(), false);
    struct stat status;
    if (one.versions_ && files_->status(one.versions(), &status) >= 0 && is_private(status))
      out.push_back(std::move(one));
    return true;
  });
  return out;
}

Error unread(const std::string& root, const std::string& path, int negative_errno) {
  Error error = file_error("read", path, negative_errno);
  if (negative_errno == -EACCES) {
    error.fix = cat("`find ", quote(root, 1000),
                    " ! -readable` names what may not be read; its "
                    "owner lets others read all of it by `chmod -R a+rX`, after each warming");
  }
  return error;
}

bool refuses_writing(int result) {
  return result == -EROFS || result == -EACCES || result == -EPERM;
}

bool is_older_identity(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
    return digits;
  };
  const auto altered = [](std::string_view text) { return text.find("-env") != text.npos; };
  if (altered(a) != altered(b)) return altered(a);
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    const std::string_view left = number(a), right = number(b);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
    if (a.empty() || b.empty()) break;
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

bool is_compiler_identity(std::string_view text) {
  if (text.empty() || text.size() > 100 || text[0] == '.') return false;
  if (is_shared_file(text)) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string shard_name(const Digest& digest) { return digest.hex().substr(0, 2); }
std::string entry_name(const Digest& digest) { return cat(digest.hex(), kEntryEnding); }
bool is_shard_name(std::string_view name) { return name.size() == 2 && is_hex(name); }
bool is_entry_name(std::string_view name) {
  return name.size() == 32 + kEntryEnding.size() && name.ends_with(kEntryEnding) &&
         is_hex(name.substr(0, 32));
}

std::optional<TemporaryName> parse_temporary_name(std::string_view name) {
  if (!name.starts_with(".t-")) return std::nullopt;
  const std::vector<std::string_view> parts = split(name.substr(3), '-');
  if (parts.size() != 3 || parts[0].size() != 16 || !is_hex(parts[0]) || parts[2].size() != 8) {
    return std::nullopt;
  }
  const auto process = parse_integer(parts[1]);
  if (!process || *process <= 0 || *process > INT32_MAX) return std::nullopt;
  return TemporaryName{static_cast<pid_t>(*process), parts[2]};
}

}  // namespace diecast
