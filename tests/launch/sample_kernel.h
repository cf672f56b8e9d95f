// Kernels for the tests of the launch floor: a template's text, its specialization, and an artifact
// that the fake driver takes.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/template/specialization.h>
#include <diecast/template/template.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "fake/cubin.h"
#include "fake/cuda_script.h"

namespace diecast::testing {

inline Specialization specialize(std::string_view name, std::string_view text,
                                 const Bindings& bindings = {},
                                 std::string_view target = "sm_90a") {
  return Specialization::make(Template::parse(name, text).value(), bindings,
                              Target::parse(target).value())
      .value();
}

inline std::shared_ptr<Artifact> artifact_of(const Specialization& specialization) {
  auto artifact = std::make_shared<Artifact>();
  artifact->target = specialization.target();
  artifact->symbol = specialization.tmpl().name();
  artifact->argument_schema = specialization.argument_schema();
  artifact->spelling = specialization.spelling();
  artifact->compiler = "nvrtc-13.0";
  FakeCubin cubin;
  cubin.symbols = {artifact->symbol};
  cubin.cc = specialization.target().cc;
  const std::string bytes = cubin.bytes();
  artifact->payload.resize(bytes.size());
  std::memcpy(artifact->payload.data(), bytes.data(), bytes.size());
  return artifact;
}

inline std::shared_ptr<Kernel> make_kernel(const Specialization& specialization,
                                           std::shared_ptr<Device> device) {
  return Kernel::make(specialization, artifact_of(specialization), std::move(device)).value();
}

// An address that is nobody's memory, for launches that run nothing.
inline void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

}  // namespace diecast::testing
