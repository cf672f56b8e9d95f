// Loaded before a program's own libraries: every second call to the file system is interrupted by a
// signal, as any of them may be on a file system in user space.
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<unsigned> calls = 0;

template <class Function, class... Arguments>
int every_second(const char* name, Function, Arguments... arguments) {
  if (++calls % 2 == 1) {
    errno = EINTR;
    return -1;
  }
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

extern "C" {

int fstat(int file, struct stat* out) noexcept { return every_second("fstat", &fstat, file, out); }
int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return every_second("fstatat", &fstatat, folder, path, out, flags);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return every_second("mkdirat", &mkdirat, folder, path, mode);
}
int linkat(int folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return every_second("linkat", &linkat, folder, from, to_folder, to, flags);
}
int renameat(int folder, const char* from, int to_folder, const char* to) noexcept {
  return every_second("renameat", &renameat, folder, from, to_folder, to);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return every_second("unlinkat", &unlinkat, folder, path, flags);
}
int fchmod(int file, mode_t mode) noexcept { return every_second("fchmod", &fchmod, file, mode); }
int futimens(int file, const struct timespec times[2]) noexcept {
  return every_second("futimens", &futimens, file, times);
}
}
