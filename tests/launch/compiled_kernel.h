// A specialization compiled by the real NVRTC, for tests that need true machine code.
#pragma once

#include <diecast/compile/nvrtc.h>
#include <diecast/launch/kernel.h>
#include <diecast/template/source.h>

#include <memory>

namespace diecast::testing {

// The found NVRTC, opened once; the reason if there is none.
inline const Result<std::shared_ptr<Compiler>>& nvrtc() {
  static const Result<std::shared_ptr<Compiler>> found =
      open_nvrtc(NvrtcSearch::from_environment());
  return found;
}

inline Result<std::shared_ptr<const Artifact>> compile(const Specialization& specialization) {
  DIECAST_TRY(const Source source, render(specialization, TemplateFiles::embedded()));
  DIECAST_TRY(Artifact artifact, nvrtc().value()->compile(source, specialization.target()));
  artifact.argument_schema = specialization.argument_schema();
  artifact.spelling = specialization.spelling();
  return std::make_shared<const Artifact>(std::move(artifact));
}

}  // namespace diecast::testing
