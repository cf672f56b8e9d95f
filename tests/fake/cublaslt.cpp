// cuBLASLt's functions as the fake has them; see cublaslt_script.h.
#include <memory>

#include "fake/cublaslt_script.h"

using namespace diecast::cublaslt;
using diecast::testing::CublasLtScript;
using diecast::testing::FakeAttributes;
using diecast::testing::FakeCublasLt;
using diecast::testing::FakeLayout;
using diecast::testing::FakeOperation;
using diecast::testing::FakeProduct;

namespace {

CublasLtScript* script() {
  static CublasLtScript script;
  return &script;
}

Status enter(const char* function) {
  if (script()->quiet) return success;
  script()->calls.emplace_back(function);
  const auto found = script()->fail.find(function);
  return found == script()->fail.end() ? success : found->second;
}

// Descriptors behind the library's names for them.
template <class Fake, class Handle>
Status create(const char* function, Handle** handle, Fake value) {
  const Status status = enter(function);
  if (status != success || script()->quiet) return status;
  *handle = reinterpret_cast<Handle*>(std::make_unique<Fake>(std::move(value)).release());
  ++script()->alive;
  return success;
}
template <class Fake, class Handle>
Status destroy(const char* function, Handle* handle) {
  delete reinterpret_cast<Fake*>(handle);
  --script()->alive;
  return enter(function);
}
Status set(const char* function, FakeAttributes& attributes, int attribute, const void* value,
           std::size_t bytes) {
  const Status status = enter(function);
  if (status == success) attributes[attribute] = {static_cast<const char*>(value), bytes};
  return status;
}
const FakeLayout& seen(const Layout* layout) {
  return *reinterpret_cast<const FakeLayout*>(layout);
}

}  // namespace

extern "C" {

CublasLtScript* fake_cublaslt_script() { return script(); }

std::size_t cublasLtGetVersion() { return script()->version; }
const char* cublasLtGetStatusName(Status status) {
  return status == 1 ? "CUBLAS_STATUS_NOT_INITIALIZED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}
Status cublasLtCreate(Context** context) {
  *context = static_cast<Context*>(const_cast<void*>(FakeCublasLt::context()));
  return enter("cublasLtCreate");
}
Status cublasLtMatmulDescCreate(Operation** operation, int compute, int factors) {
  return create("cublasLtMatmulDescCreate", operation, FakeOperation{compute, factors, {}});
}
Status cublasLtMatmulDescDestroy(Operation* operation) {
  return destroy<FakeOperation>("cublasLtMatmulDescDestroy", operation);
}
Status cublasLtMatmulDescSetAttribute(Operation* operation, int attribute, const void* value,
                                      std::size_t bytes) {
  if (script()->quiet) return success;
  return set("cublasLtMatmulDescSetAttribute",
             reinterpret_cast<FakeOperation*>(operation)->attributes, attribute, value, bytes);
}
Status cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t cols,
                                  std::int64_t stride) {
  return create("cublasLtMatrixLayoutCreate", layout, FakeLayout{type, rows, cols, stride});
}
Status cublasLtMatrixLayoutDestroy(Layout* layout) {
  return destroy<FakeLayout>("cublasLtMatrixLayoutDestroy", layout);
}
Status cublasLtMatmulPreferenceCreate(Preference** preference) {
  return create("cublasLtMatmulPreferenceCreate", preference, FakeAttributes());
}
Status cublasLtMatmulPreferenceDestroy(Preference* preference) {
  return destroy<FakeAttributes>("cublasLtMatmulPreferenceDestroy", preference);
}
Status cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute,
                                            const void* value, std::size_t bytes) {
  if (script()->quiet) return success;
  return set("cublasLtMatmulPreferenceSetAttribute", *reinterpret_cast<FakeAttributes*>(preference),
             attribute, value, bytes);
}
Status cublasLtMatmulAlgoGetHeuristic(Context* context, Operation* operation, Layout* a, Layout* b,
                                      Layout* c, Layout* d, Preference* preference, int wanted,
                                      Found* found, int* count) {
  const Status status = enter("cublasLtMatmulAlgoGetHeuristic");
  *count = script()->found;
  if (*count > 0) *found = Found{{{script()->algorithm}}, 0, script()->found_state, 1.0f, {}};
  if (script()->quiet) return status;
  FakeProduct& asked = script()->heuristics.emplace_back();
  asked.context = context;
  asked.operation = *reinterpret_cast<FakeOperation*>(operation);
  asked.a_layout = seen(a), asked.b_layout = seen(b);
  asked.c_layout = seen(c), asked.d_layout = seen(d);
  asked.preference = *reinterpret_cast<FakeAttributes*>(preference);
  asked.wanted = wanted;
  return status;
}
Status cublasLtMatmul(Context* context, Operation* operation, const void* alpha, const void* a,
                      Layout* a_layout, const void* b, Layout* b_layout, const void* beta,
                      const void* c, Layout* c_layout, void* d, Layout* d_layout,
                      const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                      void* stream) {
  const Status status = enter("cublasLtMatmul");
  if (script()->quiet) return status;
  FakeProduct& made = script()->products.emplace_back();
  made.context = context;
  made.operation = *reinterpret_cast<FakeOperation*>(operation);
  made.a_layout = seen(a_layout), made.b_layout = seen(b_layout);
  made.c_layout = seen(c_layout), made.d_layout = seen(d_layout);
  made.alpha = alpha, made.a = a, made.b = b, made.beta = beta, made.c = c, made.d = d;
  made.algorithm = algorithm->data[0];
  made.workspace = workspace, made.workspace_bytes = workspace_bytes, made.stream = stream;
  if (script()->on_multiply) script()->on_multiply(made);
  return status;
}
}

// The fake has what the library declares.
#define DIECAST_CUBLASLT_FUNCTION(name, result, parameters) \
  static_assert(std::is_same_v<decltype(::name), result parameters>);
DIECAST_CUBLASLT_FUNCTIONS(DIECAST_CUBLASLT_FUNCTION)
#undef DIECAST_CUBLASLT_FUNCTION
