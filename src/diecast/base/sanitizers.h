// DIECAST_ASAN and DIECAST_TSAN: whether AddressSanitizer or ThreadSanitizer watches this build.
#pragma once

#if defined(__has_feature)
#define DIECAST_HAS_FEATURE(name) __has_feature(name)
#else
#define DIECAST_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || DIECAST_HAS_FEATURE(address_sanitizer)
#define DIECAST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) || DIECAST_HAS_FEATURE(thread_sanitizer)
#define DIECAST_TSAN 1
#endif
#undef DIECAST_HAS_FEATURE
