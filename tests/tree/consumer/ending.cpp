// An engine that is a static object, made before anything that diecast keeps, and that goes on
// using it as the process ends.
#include <diecast/diecast.h>

#include <cstdio>

namespace {

struct Engine {
  std::shared_ptr<diecast::Runtime> runtime;

  void use() const {
    for (const char* spelling : {"amax IN=f16 @ host", "amax IN=f15 @ host", "amax IN=f16 @ hos"}) {
      const auto found = runtime->specialize(spelling);
      std::puts(found ? found->spelling().c_str() : found.error().message().c_str());
    }
    std::printf("%s %d\n", std::string(diecast::library_version()).c_str(),
                diecast::reference::encode_e2m1(3));
  }
  ~Engine() { use(); }
};

Engine engine;

}  // namespace

int main() {
  engine.runtime = diecast::Runtime::create().value();
  engine.use();
  std::puts("ends");
}
