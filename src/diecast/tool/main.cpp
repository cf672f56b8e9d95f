// The diecast command: the list of its subcommands, and what its help ends in.
#include <diecast/tool/program.h>

namespace diecast::tool {
namespace {

constexpr const char* kFooter =
    R"(Begin with:
  diecast doctor                                     what works here, and how to mend the rest
  diecast quantize model.safetensors out.safetensors
  diecast compile "quantize_nvfp4 IN=bf16 @ sm_90a"  then `diecast show quantize_nvfp4`

Exit codes: 0 done; 1 an error, or a check that failed; 2 wrong usage; 128 + n ended by signal n.

Environment (the pages cache/README.md and src/README.md say more):
  DIECAST_CACHE               off, a directory, or roots: ro:DIR,bundle:FILE,rw:DIR
  DIECAST_CACHE_POLICY        auto, require-hit, read-only, off or rebuild
  DIECAST_CACHE_COMPILERS     whose kernels may be used: found, exact, newest or bundles
  DIECAST_CACHE_BYTES         size of the root that is written (2G)
  DIECAST_TRACE               a file that gets the line of every kernel asked for
  DIECAST_TUNING              files of tuning records
  DIECAST_INCLUDE             folders of your own headers
  DIECAST_LOG                 off, warn, info, or a file that gets a line for each event
  DIECAST_BUILD               plain, lines (for profilers) or debug
  DIECAST_TEMPLATE_DIR        templates and device headers in place of the built-in ones
  DIECAST_NVRTC, DIECAST_LIBCUDA, DIECAST_CUBLASLT, DIECAST_NCCL
                              the path of that library
  DIECAST_NVDISASM            the nvdisasm or cuobjdump of compile --sass
  DIECAST_CXX                 the C++ compiler of the host target
  DIECAST_CXX_ID              a word that tells two of them apart
  DIECAST_HOST_THREADS        threads of the host device)";

}  // namespace
}  // namespace diecast::tool

int main(int argc, char** argv) {
  using namespace diecast::tool;
  CLI::App app("diecast: CUDA kernel templates, specialized, compiled, cached and launched",
               "diecast");
  app.require_subcommand(1);
  const std::vector<Command> commands = {add_doctor(app),   add_list(app),        add_show(app),
                                         add_variants(app), add_compile(app),     add_warm(app),
                                         add_quantize(app), add_dequantize(app),  add_compare(app),
                                         add_verify(app),   add_check(app),       add_cache(app),
                                         add_bundle(app),   add_compile_one(app), add_run(app),
                                         add_tune(app),     add_tune_one(app)};
  app.footer(kFooter);  // from here on: subcommands would have it too
  return run_program(app, commands, argc, argv);
}
