// The walk from `/` down to a directory, judging each step. See trusted_directory.h for the rule.
#include <diecast/base/text.h>
#include <diecast/cache/trusted_directory.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

namespace diecast {
namespace {

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersMayPass = S_IXGRP | S_IXOTH;
constexpr std::size_t kCreated = 2;  // levels: $HOME/.cache and diecast in it
constexpr int kLinks = 40;           // as the kernel's own limit

bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

// A path as it can be pasted into a shell.
std::string shell_word(const std::string& path) {
  const bool plain = std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:,=@").find(c) != std::string_view::npos;
  });
  return plain ? path : quote(path, PATH_MAX);
}

std::deque<std::string> components(std::string_view path) {
  std::deque<std::string> names;
  for (const std::string_view name : split(path, '/')) {
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  return names;
}

class Walk {
 public:
  enum class End : std::uint8_t { directory, new_directory, file };
  Walk(FileSystem& files, const std::string& path, End end)
      : files_(files), path_(path), end_(end) {}

  Result<Descriptor> run() {
    left_ = components(path_);
    DIECAST_CHECK(enter_top());
    while (!left_.empty()) {
      const std::string name = left_.front();
      left_.pop_front();
      const bool linked = linked_ > 0;
      if (linked) --linked_;
      const bool create = end_ == End::new_directory && !linked && left_.size() < kCreated;
      DIECAST_CHECK(step(name, create));
    }
    return std::move(here_);
  }

 private:
  Result<void> enter_top() {
    walked_ = "";
    closed_ = false;
    return enter(files_.open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), "/");
  }

  Result<void> step(const std::string& name, bool create) {
    const std::string next = cat(walked_, "/", name);
    struct stat status;
    const int found = files_.status_at(here_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    if (found == -ENOENT && create) {
      const int made = files_.make_directory_at(here_.number(), name.c_str(), 0700);
      if (made < 0 && made != -EEXIST) return file_error("create", next, made);
    } else if (found < 0) {
      Error error = file_error("open", next, found);
      if (found == -ENOENT && end_ == End::new_directory) {
        error.fix = cat("make ", quote(not_created(next), PATH_MAX),
                        " (of a cache root only the last two folders are created), or set "
                        "DIECAST_CACHE to another path");
      }
      return error;
    } else if (S_ISLNK(status.st_mode)) {
      return follow(name, next, status);
    } else if (!is_expected(status)) {
      return unexpected(next, status);
    }
    if (name == "..") closed_ = false;  // it may lead out of what is closed
    const int how =
        is_file() ? O_RDONLY | O_NONBLOCK : O_DIRECTORY | (left_.empty() ? O_RDONLY : O_PATH);
    const int file = files_.open_at(here_.number(), name.c_str(), how | O_NOFOLLOW, 0);
    DIECAST_CHECK(enter(file, next));
    walked_ = next;
    return {};
  }

  // Of a cache root that lacks `missing` and what is below it: the folder that must be there before
  // the rest is created, to which all belongs that a link names.
  std::string not_created(std::string missing) const {
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (i < linked_ || i + kCreated < left_.size()) missing += cat("/", left_[i]);
    return missing;
  }

  bool is_file() const { return end_ == End::file && left_.empty(); }
  bool is_expected(const struct stat& status) const {
    return is_file() ? S_ISREG(status.st_mode) : S_ISDIR(status.st_mode);
  }

  // The components of the link's text come next; each is judged like any other.
  Result<void> follow(const std::string& name, const std::string& next, const struct stat& link) {
    if (!is_ours(link)) return foreign("symbolic link", next, link, "h");
    char text[PATH_MAX];
    const ssize_t size = files_.read_link_at(here_.number(), name.c_str(), text, sizeof text);
    if (size < 0) return file_error("read the link", next, static_cast<int>(size));
    if (++links_ > kLinks) return file_error("open", path_, -ELOOP);
    const std::string_view target(text, static_cast<std::size_t>(size));
    const std::deque<std::string> names = components(target);
    left_.insert(left_.begin(), names.begin(), names.end());
    linked_ += names.size();
    return target.starts_with('/') ? enter_top() : Result<void>();
  }

  Result<void> enter(int file, const std::string& path) {
    if (file < 0) return file_error("open", path, file);
    here_ = Descriptor(files_, file);
    struct stat status;
    if (const int result = files_.status(file, &status); result < 0) {
      return file_error("read", path, result);
    }
    const char* what = is_file() ? "bundle" : left_.empty() ? "cache root" : "directory";
    if (!is_ours(status)) return foreign(what, path, status, "");
    const mode_t open = status.st_mode & kOthersMayWrite;
    const bool sticky = !left_.empty() && (status.st_mode & S_ISVTX) != 0;
    if (open != 0 && !sticky && !closed_) return writable(what, path, status);
    closed_ = closed_ || (status.st_mode & kOthersMayPass) == 0;
    return {};
  }

  Error unexpected(const std::string& path, const struct stat& status) const {
    if (!left_.empty()) return file_error("open", path, -ENOTDIR);
    const char* there = S_ISDIR(status.st_mode)   ? "a directory"
                        : S_ISREG(status.st_mode) ? "a file"
                                                  : "neither a directory nor a file";
    return {
        ErrorCode::file_not_found,
        cat(is_file() ? "the bundle " : "the cache root ", quote(path, PATH_MAX), " is ", there),
        "name a directory as rw:PATH or ro:PATH, a bundle's file as bundle:PATH"};
  }

  std::string above() const {
    if (left_.empty()) return "";
    return cat(" above the ", end_ == End::file ? "bundle " : "cache root ",
               quote(path_, PATH_MAX));
  }

  Error foreign(std::string_view what, const std::string& path, const struct stat& status,
                std::string_view option) const {
    const uid_t own = ::geteuid();
    return {ErrorCode::unsafe_directory,
            cat("the ", what, " ", quote(path, PATH_MAX), above(), " belongs to uid ",
                status.st_uid, ", neither to root nor to this process (uid ", own,
                "): its owner could run code as this user"),
            cat("chown ", option.empty() ? "" : "-h ", own, " ", shell_word(path),
                ", or set DIECAST_CACHE to a directory of your own")};
  }

  // A directory that many use is not to be closed to them: the cache gets another.
  Error writable(std::string_view what, const std::string& path, const struct stat& status) const {
    const mode_t mode = status.st_mode;
    const bool shared = (mode & S_ISVTX) != 0 || status.st_uid != ::geteuid();
    const std::string octal = {static_cast<char>('0' + (mode >> 6 & 7)),
                               static_cast<char>('0' + (mode >> 3 & 7)),
                               static_cast<char>('0' + (mode & 7))};
    return {ErrorCode::unsafe_directory,
            cat("the ", what, " ", quote(path, PATH_MAX), above(), " can be written by ",
                (mode & S_IWOTH) != 0 ? "everybody" : "its group", " (mode ", octal,
                "): whoever does could run code as this user"),
            cat(shared ? ""
                       : cat("chmod ", left_.empty() && !is_file() ? "700 " : "go-w ",
                             shell_word(path), ", or "),
                "set DIECAST_CACHE to a directory that only you can write")};
  }

  FileSystem& files_;
  const std::string path_;
  const End end_;
  std::deque<std::string> left_;  // components still to be entered
  Descriptor here_;
  std::string walked_;  // where `here_` is, for messages; links resolved
  int links_ = 0;
  bool closed_ = false;     // a directory on the way here lets no other user pass
  std::size_t linked_ = 0;  // of `left_`: from the text of links, never created
};

Result<void> check_path(const std::string& path) {
  const char* wrong = path.empty()                           ? "is empty"
                      : path[0] != '/'                       ? "is not an absolute path"
                      : path.find('\0') != std::string::npos ? "has a zero byte"
                      : components(path).empty()             ? "is the root of the file system"
                                                             : nullptr;
  if (wrong != nullptr) {
    return Error{ErrorCode::invalid_argument, cat("the cache root ", quote(path), " ", wrong),
                 "set DIECAST_CACHE to the absolute path of a directory for the cache alone"};
  }
  return {};
}

}  // namespace

Result<Descriptor> open_trusted_directory(FileSystem& files, const std::string& path, bool create) {
  DIECAST_CHECK(check_path(path));
  return Walk(files, path, create ? Walk::End::new_directory : Walk::End::directory).run();
}

Result<Descriptor> open_trusted_file(FileSystem& files, const std::string& path) {
  DIECAST_CHECK(check_path(path));
  return Walk(files, path, Walk::End::file).run();
}

bool is_private(const struct stat& status) {
  return is_ours(status) && (status.st_mode & kOthersMayWrite) == 0;
}

Result<void> check_own_rights() {
  if (::getuid() == ::geteuid() && ::getgid() == ::getegid() && ::getauxval(AT_SECURE) == 0) {
    return {};
  }
  return Error{
      ErrorCode::unsafe_directory,
      cat("the disk cache is off in a process with more rights than its user (uid ", ::getuid(),
          ", effective uid ", ::geteuid(), "): set-user-id, set-group-id or file capabilities"),
      "run the program without them, or set DIECAST_CACHE=off"};
}

}  // namespace diecast
