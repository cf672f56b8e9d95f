// Stands in for the real types.h.
#pragma once
namespace diecast {
using f32 = float;
using u32 = unsigned int;
using i64 = long long;
}  // namespace diecast
