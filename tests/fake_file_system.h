// A file system that fails where a test says: every call is counted and shown to a rule, which lets
// it through, refuses it with an errno, or lets it happen and reports a failure all the same (the
// lost reply of a network file system). What is not refused goes to the real system.
#pragma once

#include <diecast/base/file.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast::testing {

struct FileCall {
  std::string name;  // "open_at", "sync_data", ...
  int number;        // from 1, over all calls
  int flags = 0;     // of open_at, rename_at, unlink_at, status_at
  std::string path;  // of calls that name one; of renames and links the new name
  int error = 0;     // in the log: the errno it was refused with
};

struct FileFault {
  int error = 0;      // 0 = no fault, else an errno
  bool done = false;  // the call is made, and its success is hidden
  std::size_t size =
      0;  // without an error, of read_at, write_at, free_space: at most so many bytes
};

class FakeFileSystem final : public FileSystem {
 public:
  using Rule = std::function<FileFault(const FileCall&)>;

  FakeFileSystem() = default;
  explicit FakeFileSystem(Rule rule) : rule_(std::move(rule)) {}

  // Fails call `first` with `error`; when sticky also every later one.
  static Rule fail_from(int first, int error, bool sticky) {
    return [=](const FileCall& call) {
      const bool hit = sticky ? call.number >= first : call.number == first;
      return FileFault{hit ? error : 0};
    };
  }
  // Fails every call of one name.
  static Rule refuse(std::string name, int error) {
    return [=](const FileCall& call) { return FileFault{call.name == name ? error : 0}; };
  }

  // The first rule that has a fault decides.
  static Rule both(Rule one, Rule two) {
    return [one = std::move(one), two = std::move(two)](const FileCall& call) {
      const FileFault fault = one(call);
      return fault.error != 0 ? fault : two(call);
    };
  }

  int calls() const { return count_; }
  bool refused() const { return refused_; }  // the rule has refused at least one call
  std::vector<FileCall> log() const {
    std::lock_guard guard(mutex_);
    return log_;
  }
  bool refused(std::string_view name) const {
    std::lock_guard guard(mutex_);
    for (const FileCall& call : log_) {
      if (call.name == name && call.error != 0) return true;
    }
    return false;
  }
  // The names of the calls, in order: what was done before what.
  std::vector<std::string> names() const {
    std::lock_guard guard(mutex_);
    std::vector<std::string> out;
    for (const FileCall& call : log_) out.push_back(call.name);
    return out;
  }

  int open_at(int directory, const char* path, int flags, mode_t mode) override {
    const FileFault fault = seen("open_at", path, flags);
    if (fault.error != 0) return -fault.error;
    return system_.open_at(directory, path, flags, mode);
  }
  int close(int file) override {  // closed in any case, as Linux does
    const FileFault fault = seen("close");
    const int result = system_.close(file);
    return fault.error != 0 ? -fault.error : result;
  }
  ssize_t read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) override {
    const FileFault fault = seen("read_at");
    if (fault.error != 0) return -fault.error;
    return system_.read_at(file, buffer, cut(size, fault), offset);
  }
  ssize_t write_at(int file, const void* data, std::size_t size, std::uint64_t offset) override {
    const FileFault fault = seen("write_at");
    if (fault.error != 0) return -fault.error;
    return system_.write_at(file, data, cut(size, fault), offset);
  }
  int sync_data(int file) override {
    return call(seen("sync_data"), [&] { return system_.sync_data(file); });
  }
  int sync_all(int file) override {
    return call(seen("sync_all"), [&] { return system_.sync_all(file); });
  }
  int truncate(int file, std::uint64_t size) override {
    return call(seen("truncate"), [&] { return system_.truncate(file, size); });
  }
  int reserve(int file, std::uint64_t size) override {
    return call(seen("reserve"), [&] { return system_.reserve(file, size); });
  }
  int free_space(int file, std::uint64_t* bytes) override {
    const FileFault fault = seen("free_space");
    const int result = fault.error != 0 ? -fault.error : system_.free_space(file, bytes);
    if (result >= 0) *bytes = cut(*bytes, fault);
    return result;
  }
  int change_mode(int file, mode_t mode) override {
    return call(seen("change_mode"), [&] { return system_.change_mode(file, mode); });
  }
  int status(int file, struct stat* out) override {
    return call(seen("status"), [&] { return system_.status(file, out); });
  }
  int status_at(int directory, const char* path, struct stat* out, int flags) override {
    return call(seen("status_at", path, flags),
                [&] { return system_.status_at(directory, path, out, flags); });
  }
  int make_directory_at(int directory, const char* path, mode_t mode) override {
    return call(seen("make_directory_at", path),
                [&] { return system_.make_directory_at(directory, path, mode); });
  }
  int link_descriptor(int file, int directory, const char* name) override {
    return call(seen("link_descriptor", name),
                [&] { return system_.link_descriptor(file, directory, name); });
  }
  int link_at(int from_directory, const char* from, int to_directory, const char* to) override {
    return call(seen("link_at", to),
                [&] { return system_.link_at(from_directory, from, to_directory, to); });
  }
  int rename_at(int from_directory, const char* from, int to_directory, const char* to,
                unsigned flags) override {
    return call(seen("rename_at", to, static_cast<int>(flags)),
                [&] { return system_.rename_at(from_directory, from, to_directory, to, flags); });
  }
  int unlink_at(int directory, const char* path, int flags) override {
    return call(seen("unlink_at", path, flags),
                [&] { return system_.unlink_at(directory, path, flags); });
  }
  ssize_t read_link_at(int directory, const char* path, char* text, std::size_t size) override {
    const FileFault fault = seen("read_link_at", path);
    return fault.error != 0 ? -fault.error : system_.read_link_at(directory, path, text, size);
  }
  int set_times(int file, const struct timespec times[2]) override {
    return call(seen("set_times"), [&] { return system_.set_times(file, times); });
  }
  int list_directory(int directory, const std::function<bool(const char*)>& each) override {
    return call(seen("list_directory"), [&] { return system_.list_directory(directory, each); });
  }
  int try_lock(int file, std::uint64_t offset, std::uint64_t length) override {
    return call(seen("try_lock"), [&] { return system_.try_lock(file, offset, length); });
  }
  int unlock(int file, std::uint64_t offset, std::uint64_t length) override {
    return call(seen("unlock"), [&] { return system_.unlock(file, offset, length); });
  }
  std::int64_t now_seconds() override { return system_.now_seconds() + clock_offset; }

  std::atomic<std::int64_t> clock_offset = 0;  // seconds this file system's clock is ahead

 private:
  FileFault seen(const char* name, const char* path = "", int flags = 0) {
    FileCall call{name, ++count_, flags, path};
    const FileFault fault = rule_ ? rule_(call) : FileFault{};
    if (fault.error != 0) refused_ = true;
    call.error = fault.error;
    std::lock_guard guard(mutex_);
    log_.push_back(std::move(call));
    return fault;
  }
  template <class Call>
  static int call(const FileFault& fault, Call make) {
    if (fault.error == 0) return make();
    if (fault.done) make();
    return -fault.error;
  }
  static std::size_t cut(std::size_t size, const FileFault& fault) {
    return fault.size != 0 && fault.size < size ? fault.size : size;
  }

  FileSystem& system_ = system_files();
  Rule rule_;
  std::atomic<int> count_ = 0;
  std::atomic<bool> refused_ = false;
  mutable std::mutex mutex_;
  std::vector<FileCall> log_;
};

}  // namespace diecast::testing
