// One product of two NVFP4 matrices as cuBLASLt is told it. cuBLASLt counts columns first: the
// weight's codes [N, K] are its A [K, N], transposed; the activation's [M, K] are its B [K, M]; out
// [M, N] is its D [N, M]. Block scales are the 128x4 layout's, one byte for 16 codes.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/gemm/cublaslt/api.h>
#include <diecast/template/value.h>

#include <cstdint>

namespace diecast::cublaslt {

struct ProductOperand {
  const void* codes;
  const void* scales;
};

struct Product {
  ProductOperand a, b;  // the activation [rows, depth], the weight [cols, depth]
  std::int64_t rows = 0, cols = 0, depth = 0;
  void* out = nullptr;  // [rows, cols], dense: bf16 or f32
  DType out_type = DType::f32;
  const void* alpha = nullptr;  // f32; out = alpha * the sums + beta * out
  const void* beta = nullptr;
  bool factors_on_device = false;  // where alpha and beta lie
  void* workspace = nullptr;       // device memory, from a multiple of 256 bytes on
  std::int64_t workspace_bytes = 0;
};

// The descriptors of a product, and the algorithm that cuBLASLt has for it.
class Described {
 public:
  explicit Described(std::shared_ptr<const Api> api) : api_(std::move(api)) {}
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described();

  // Needs no GPU. Errors: driver_error (a call failed).
  Result<void> make(const Product& product);
  // Asks the heuristics for the first algorithm. Errors: driver_error; not_supported (cuBLASLt has
  // none for this product on this GPU).
  Result<void> choose(Context* context);
  // Enqueues it. Errors: driver_error.
  Result<void> multiply(Context* context, void* stream) const;

 private:
  template <class Value>
  Result<void> set(int attribute, const Value& value) const;
  template <class Value>
  Result<void> prefer(int attribute, const Value& value) const;
  Result<void> describe_operation() const;
  Result<void> describe_preference() const;

  const std::shared_ptr<const Api> api_;
  Product product_;
  Operation* operation_ = nullptr;
  Layout *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;  // cuBLASLt's A is the weight
  Preference* preference_ = nullptr;
  Found found_{};
};

}  // namespace diecast::cublaslt
