// The fake cuBLASLt of the tests: libfake_cublaslt.so (cublaslt.cpp) has the functions that the
// library uses; this header is how a test says what it is and what fails, and sees what it was
// told. It multiplies nothing unless `on_multiply` does.
#pragma once

#include <diecast/base/library.h>
#include <diecast/ops/gemm/cublaslt/api.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace diecast::testing {

// Attributes of a descriptor by their numbers, each as the bytes it was set to.
struct FakeAttributes : std::map<int, std::string> {
  template <class Value>
  Value value(int attribute) const {
    Value out{};
    const std::string& bytes = at(attribute);
    if (bytes.size() != sizeof out) throw std::length_error("an attribute of another size");
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

struct FakeLayout {
  int type = -1;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t stride = 0;
  bool operator==(const FakeLayout&) const = default;
};

struct FakeOperation {
  int compute = -1, factors = -1;
  FakeAttributes attributes;
};

// A call of cublasLtMatmulAlgoGetHeuristic or cublasLtMatmul, with what its descriptors said then.
struct FakeProduct {
  const void* context = nullptr;
  FakeOperation operation;
  FakeLayout a_layout, b_layout, c_layout, d_layout;
  FakeAttributes preference;  // of the heuristics
  int wanted = 0;
  const void *alpha = nullptr, *a = nullptr, *b = nullptr, *beta = nullptr, *c = nullptr;
  void* d = nullptr;
  std::uint64_t algorithm = 0;  // its first word
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  void* stream = nullptr;
};

struct CublasLtScript {
  std::size_t version = 130100;
  std::map<std::string, int> fail;  // what every call of a function returns
  int found = 1, found_state = 0;   // what the heuristics say
  std::uint64_t algorithm = 0xA160;
  std::vector<std::string> calls;  // their names, in order
  std::vector<FakeProduct> heuristics, products;
  int alive = 0;  // descriptors that were not destroyed
  std::function<void(const FakeProduct&)> on_multiply;
  bool quiet = false;  // record nothing, make nothing: to see what stands above the library
};

class FakeCublasLt {
 public:
  FakeCublasLt() : library_(Library::open(path()).value()) { *script() = {}; }
  static std::string path() { return DIECAST_FAKE_DIR "/libfake_cublaslt.so"; }
  // What cublasLtCreate gives.
  static const void* context() { return reinterpret_cast<const void*>(0xC0); }
  CublasLtScript* operator->() const { return script(); }

 private:
  CublasLtScript* script() const {
    return library_.function<CublasLtScript*()>("fake_cublaslt_script")();
  }
  Library library_;
};

}  // namespace diecast::testing
