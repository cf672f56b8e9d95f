// Templates whose tensors are accessed in every way that a debug build checks.
#pragma once

#include <string>

namespace diecast::testing {

// The body of a kernel on x and y of n elements, m of [rows, 4] with apart rows, and sums.
inline std::string checked_kernel(const std::string& body) {
  return R"(/* diecast
size     n
size     rows
arg      x      in    f32 [n]
arg      y      out   f32 [n]
arg      m      in    f32 [rows, 4] stride
arg      bias   in    f32 [n]       optional
arg      sums   inout i32 [2]
arg      n
arg      rows
arg      at     i64
sample   n {8}  rows {2}
launch   grid(1) block(1)
exchange none
*/
struct Pair { f32 a, b; };
DIECAST_DEVICE f32 first_of(const f32* p) { return *p; }
template <class T>
DIECAST_DEVICE T second_of(const T* p) { return p[1]; }
DIECAST_KERNEL {
)" + body +
         "\n}\n";
}

// Right in every build.
inline constexpr const char* kRightBody = R"(
  f32 sum = x[0] + x[n - 1] + *x + *(x + n - 1) + *(x + 1u);
  if (x == nullptr || !y) return;
  if constexpr (HAS_BIAS) sum += bias[1];
  const f32* p = x + n;
  sum += *(p - 1) + first_of(x + 1) + second_of(&x[2]) + second_of<f32>(x + 2);
  auto q = x;
  sum += *q++ + *++q + *--q + (*q-- > 0);
  for (const f32* each = x; each != x + n; ++each) sum += *each;
  for (auto each = x; each < x + n && 0 < n - (each - x); ++each) sum += *each + (p - each);
  const volatile f32* seen = x;
  sum += seen[0] + *(const volatile f32*)(x + 1) + *(1 + x) + __ldg(x + 1) + (f32)((u64)x % 4);
  sum += ((const Pair*)x)->a + (nullptr == x) + (p == x + n) + (x <= p) + (y > x && x >= y);
  const f32* chosen = at < 0 ? x : nullptr;
  chosen = chosen == nullptr ? x + 1 : at < 0 ? x : y;
  sum += *chosen + *(at < 0 ? nullptr : x + 1);
  const auto* row = x + 1;
  auto* own = y;
  auto *front = x, *back = x + n - 1;
  auto const* __restrict__ alone = x;
  const f32 two[2] = {1, 2};
  for (const auto* each = two; each < two + 2; ++each) sum += *each + *row++ + *alone;
  const auto twice = [](auto* p) { return p[0] + p[1]; };
  sum += twice(x) + twice(two) + (own == y) + *front + *back;
  const Pair pair = *reinterpret_cast<const Pair*>(x + n - 2);
  sum += pair.a + pair.b + m[(rows - 1) * m_stride + 3];
  assert(n > 0 && "some");
  if (sum < 0) printf("%lld: %f\n", at, sum);
  y[0] = sum;
  y += 1;
  *y = threadIdx.x < 1 ? 1.0f : 2.0f;
  atomicAdd(&sums[1], 1);
  atomicMax(sums, 0);
)";

// What takes pointers alone, and so no tensor argument of a debug build.
inline constexpr const char* kForPointers[] = {"y[0] = at[x];", "y[0] = second_of(x + at);"};
inline constexpr const char* kForPointersFix =
    "mend checked.cu at line 21: a debug build checks a tensor argument, which is no T* there; "
    "write x[i] for i[x], &x[i] where a function deduces T*, and each variable with an auto of its "
    "own";

}  // namespace diecast::testing
