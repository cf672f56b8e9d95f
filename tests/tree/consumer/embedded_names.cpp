// The smallest use of an installed diecast: name the templates that the library carries.
#include <diecast/template/embedded.h>

#include <cstdio>

int main() {
  for (const std::string& name : diecast::TemplateFiles::embedded().template_names())
    std::printf("%s\n", name.c_str());
}
