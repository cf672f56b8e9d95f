// The smallest use of an installed diecast: a runtime, and the names of the templates it knows.
#include <diecast/diecast.h>

#include <cstdio>

int main() {
  const auto runtime = diecast::Runtime::create();
  if (!runtime) return std::fputs(runtime.error().message().c_str(), stderr), 1;
  for (const std::string& name : (*runtime)->template_names()) std::printf("%s\n", name.c_str());
}
