// The diecast command. Exit codes: 0 done; 1 an error, or a check that failed; 2 wrong usage;
// 128 + n ended by signal n.
#include <cstdio>
#include <vector>

#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

int main(int argc, char** argv) {
  using namespace diecast::tool;
  open_standard_streams();
  CLI::App app("diecast: CUDA kernel templates, specialized, compiled, cached and launched");
  app.require_subcommand(1);
  app.set_version_flag("--version", "diecast " DIECAST_VERSION);
  const std::vector<Command> commands = {
      add_doctor(app),  add_list(app),     add_show(app),       add_variants(app),
      add_compile(app), add_warm(app),     add_quantize(app),   add_dequantize(app),
      add_compare(app), add_check(app),    add_cache(app),      add_bundle(app),
      add_bench(app),   add_bench_start(app), add_compile_one(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const diecast::Result<int> done = command.run();
    if (done && std::fflush(stdout) == 0) return *done;
    if (!done) print_error(done.error());
    return 1;
  }
  return 2;
}
