// A driver with the older form of cuGetProcAddress alone (11.3 to 11.8 have no other): what it
// finds is the fake driver beside it.
#include <dlfcn.h>

#include <cstdint>
#include <string>

extern "C" int cuGetProcAddress(const char* name, void** function, int version,
                                std::uint64_t flags) {
  using Find = int(const char*, void**, int, std::uint64_t);
  static Find* const find = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<void*>(&cuGetProcAddress), &self);
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/')) + "/libfake_cuda.so";
    return reinterpret_cast<Find*>(dlsym(dlopen(path.c_str(), RTLD_NOW), "cuGetProcAddress"));
  }();
  return find(name, function, version, flags);
}
