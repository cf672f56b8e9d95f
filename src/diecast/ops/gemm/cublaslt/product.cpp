// A product in cuBLASLt's words; see product.h.
#include <diecast/base/text.h>
#include <diecast/ops/gemm/cublaslt/product.h>

namespace diecast::cublaslt {
namespace {

// The largest power of two, up to 256, that an address is a multiple of.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<std::uint32_t>(bits & -bits);
}

int type_of(DType type) { return type == DType::bf16 ? real_bf16 : real_f32; }

}  // namespace

Described::~Described() {
  if (operation_ != nullptr) api_->call.cublasLtMatmulDescDestroy(operation_);
  for (Layout* const layout : {a_, b_, out_}) {
    if (layout != nullptr) api_->call.cublasLtMatrixLayoutDestroy(layout);
  }
  if (preference_ != nullptr) api_->call.cublasLtMatmulPreferenceDestroy(preference_);
}

template <class Value>
Result<void> Described::set(int attribute, const Value& value) const {
  const Status status =
      api_->call.cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value);
  if (status == success) return {};  // without a text, which would take memory
  return api_->done(cat("cublasLtMatmulDescSetAttribute of ", attribute), status);
}

template <class Value>
Result<void> Described::prefer(int attribute, const Value& value) const {
  const Status status =
      api_->call.cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value);
  if (status == success) return {};
  return api_->done(cat("cublasLtMatmulPreferenceSetAttribute of ", attribute), status);
}

Result<void> Described::describe_operation() const {
  DIECAST_CHECK(set(operation_pointer_mode,
                    product_.factors_on_device ? factors_on_device : factors_on_host));
  DIECAST_CHECK(set(operation_a_transposition, transposed));
  DIECAST_CHECK(set(operation_b_transposition, plain));
  DIECAST_CHECK(set(operation_a_scale_mode, scale_of_16_e4m3));
  DIECAST_CHECK(set(operation_b_scale_mode, scale_of_16_e4m3));
  DIECAST_CHECK(set(operation_a_scale, product_.b.scales));
  return set(operation_b_scale, product_.a.scales);
}

Result<void> Described::describe_preference() const {
  DIECAST_CHECK(prefer(preference_workspace, static_cast<std::uint64_t>(product_.workspace_bytes)));
  DIECAST_CHECK(prefer(preference_a_alignment, alignment_of(product_.b.codes)));
  DIECAST_CHECK(prefer(preference_b_alignment, alignment_of(product_.a.codes)));
  DIECAST_CHECK(prefer(preference_c_alignment, alignment_of(product_.out)));
  return prefer(preference_d_alignment, alignment_of(product_.out));
}

Result<void> Described::make(const Product& product) {
  product_ = product;
  const auto rows = static_cast<std::uint64_t>(product.rows);
  const auto cols = static_cast<std::uint64_t>(product.cols);
  const auto depth = static_cast<std::uint64_t>(product.depth);
  const Functions& call = api_->call;
  const auto layout = [&](Layout** made, int type, std::uint64_t length, std::uint64_t lines) {
    return api_->done("cublasLtMatrixLayoutCreate",
                      call.cublasLtMatrixLayoutCreate(made, type, length, lines,
                                                      static_cast<std::int64_t>(length)));
  };
  DIECAST_CHECK(api_->done("cublasLtMatmulDescCreate",
                           call.cublasLtMatmulDescCreate(&operation_, compute_f32, real_f32)));
  DIECAST_CHECK(describe_operation());
  DIECAST_CHECK(layout(&a_, real_e2m1, depth, cols));
  DIECAST_CHECK(layout(&b_, real_e2m1, depth, rows));
  DIECAST_CHECK(layout(&out_, type_of(product.out_type), cols, rows));
  DIECAST_CHECK(api_->done("cublasLtMatmulPreferenceCreate",
                           call.cublasLtMatmulPreferenceCreate(&preference_)));
  return describe_preference();
}

Result<void> Described::choose(Context* context) {
  int count = 0;
  const Status status = api_->call.cublasLtMatmulAlgoGetHeuristic(
      context, operation_, a_, b_, out_, out_, preference_, 1, &found_, &count);
  if (status != success && status != not_supported) {
    return api_->done("cublasLtMatmulAlgoGetHeuristic", status);
  }
  if (status == success && count == 1 && found_.state == success) return {};
  return Error{
      ErrorCode::not_supported,
      cat("gemm_nvfp4: cuBLASLt ", api_->version, " has no algorithm for [", product_.rows, ", ",
          product_.depth, "] times [", product_.cols, ", ", product_.depth, "] to ",
          dtype_name(product_.out_type), " with ", product_.workspace_bytes, " bytes of workspace"),
      "path = \"own\", more scratch, or a newer cuBLASLt"};
}

Result<void> Described::multiply(Context* context, void* stream) const {
  return api_->done(
      "cublasLtMatmul",
      api_->call.cublasLtMatmul(context, operation_, product_.alpha, product_.b.codes, a_,
                                product_.a.codes, b_, product_.beta, product_.out, out_,
                                product_.out, out_, &found_.algorithm, product_.workspace,
                                static_cast<std::size_t>(product_.workspace_bytes), stream));
}

}  // namespace diecast::cublaslt
