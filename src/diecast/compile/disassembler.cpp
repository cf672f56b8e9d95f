// Finding and running a disassembler; see disassembler.h.
#include <diecast/base/file.h>
#include <diecast/base/private_directory.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/disassembler.h>

namespace diecast {
namespace {

constexpr std::size_t kMostText = 256u << 20;

std::vector<std::string> places() {
  std::vector<std::string> folders = {""};  // PATH
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment_variable(name); home.starts_with('/'))
      folders.push_back(home + "/bin/");
  folders.emplace_back("/usr/local/cuda/bin/");
  return folders;
}

}  // namespace

Result<std::string> find_disassembler() {
  const std::string named = environment_variable("DIECAST_NVDISASM");
  if (!named.empty()) {
    if (std::string found = find_program(named); !found.empty()) return found;
    return Error{ErrorCode::process_failed,
                 cat("DIECAST_NVDISASM is ", quote(named), ", which is no program"),
                 "name an nvdisasm or cuobjdump, or unset it to search the usual places"};
  }
  for (const std::string& folder : places())
    for (const char* name : {"nvdisasm", "cuobjdump"})
      if (std::string found = find_program(folder + name); !found.empty()) return found;
  return Error{ErrorCode::process_failed,
               "no disassembler: neither nvdisasm nor cuobjdump is in PATH, CUDA_HOME, CUDA_PATH "
               "or /usr/local/cuda",
               "install a CUDA toolkit (cuda-nvdisasm), or name either program in "
               "DIECAST_NVDISASM"};
}

Result<std::string> disassemble(const std::string& program, const Artifact& artifact) {
  if (artifact.kind != Artifact::Kind::cubin)
    return Error{ErrorCode::target_not_supported,
                 cat(artifact.spelling, ": the host's machine code is no SASS"),
                 "write it to a file with -o kernel.so, and see it with objdump -d kernel.so"};
  DIECAST_TRY(const PrivateDirectory directory, PrivateDirectory::make());
  const std::string file = directory.file("kernel.cubin");
  DIECAST_TRY(AtomicFile out, AtomicFile::create(system_files(), file));
  DIECAST_CHECK(out.write(artifact.payload));
  DIECAST_CHECK(out.commit());
  ProcessRequest request;
  request.arguments = {program};
  if (program.ends_with("cuobjdump")) request.arguments.emplace_back("-sass");
  request.arguments.push_back(file);
  request.output_limit = kMostText;
  DIECAST_TRY(ProcessResult result, run_process(request));
  if (result.exit_code == 0) return std::move(result.output);
  return Error{
      ErrorCode::process_failed,
      cat(program, " does not read the code of ", artifact.spelling, ": ", trim(result.errors)),
      cat("name a disassembler that knows ", artifact.target.name(),
          " in DIECAST_NVDISASM: that of a newer CUDA toolkit")};
}

}  // namespace diecast
