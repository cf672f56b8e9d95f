// A kernel's parameters as the `arg` lines make them: what the entry takes, what the body sees. Not
// a public header.
#pragma once

#include <diecast/template/build_kind.h>
#include <diecast/template/specialization.h>

#include <string>
#include <vector>

namespace diecast {

// One kernel parameter in its forms.
struct ArgumentForm {
  std::string body;   // as the body takes it
  std::string raw;    // as the CUDA entry takes it
  std::string value;  // the type a host launch points to
  std::string name;
  std::string pass;      // what the entry gives the body
  bool large = false;    // a structure: never copied on the host
  bool derived = false;  // made by the entry from other parameters: no kernel parameter of its own
  bool read = false;     // what it points to is read
};

// In order. In a debug build the body's tensors are checked pointers
// (diecast/device/base/checked.h).
std::vector<ArgumentForm> forms_of(const Specialization& specialization, BuildKind build);

}  // namespace diecast
