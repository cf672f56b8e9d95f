// diecast-bench: diecast measured on this machine. Users install the diecast command without it.
#include <diecast/tool/program.h>

#include "bench/commands.h"

namespace {

constexpr const char* kFooter =
    R"(Begin with:
  diecast-bench host                              the ops on one core of this processor
  diecast-bench gpu --shape 16384x7168            the ops on a GPU, on matrices of this shape
  diecast-bench launch gemm                       several parts, one after the other
  diecast-bench options --template amax           what each option of a template costs
  diecast-bench kernels                           the example kernels beside the same in Triton
  diecast-bench --plot bandwidth.svg              quantize_nvfp4's bandwidth over rows, drawn
  diecast-bench selftest --device                 what this GPU's driver does

Exit codes: 0 every bound holds; 1 an error, or a bound that is missed; 2 wrong usage.)";

}  // namespace

int main(int argc, char** argv) {
  using namespace diecast::tool;
  CLI::App app("Measures diecast on this machine and compares the figures with their bounds",
               "diecast-bench");
  app.require_subcommand(0, 1);
  const Command parts = add_parts(app);
  const Command selftest = add_selftest(app), kernels = add_kernels(app);
  for (CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    selftest.app->excludes(option);
    kernels.app->excludes(option);
  }
  // Processes that the bench starts: what serves from a warmed cache, and what the command does.
  const Command start = add_start(app), compile_one = add_compile_one(app),
                bundle = add_bundle(app);
  bundle.app->group("");
  app.footer(kFooter);  // from here on: subcommands would have it too
  return run_program(app, {selftest, kernels, start, compile_one, bundle, parts}, argc, argv);
}
