// Counts every allocation of the program: operator new, and malloc below it. Include it in one
// source of a program and in no library, because it replaces these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace lockstep::tools::benchmark {

inline std::uint64_t allocations_made = 0;

}  // namespace lockstep::tools::benchmark

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define LOCKSTEP_SANITIZED 1
#endif
#endif

// malloc and its relatives are counted if the C library has entry points below them and no
// sanitizer has replaced them.
#if defined(__GLIBC__) && !defined(LOCKSTEP_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_COUNTS_MALLOC 1
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  ++lockstep::tools::benchmark::allocations_made;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++lockstep::tools::benchmark::allocations_made;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) noexcept {
  ++lockstep::tools::benchmark::allocations_made;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  ++lockstep::tools::benchmark::allocations_made;
  return __libc_memalign(alignment, bytes);
}
}
#endif

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_COUNTS_NOTHING 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_COUNTS_NOTHING 1
#endif
#endif

namespace lockstep::tools::benchmark {

// ThreadSanitizer's runtime defines these operators too, and cannot be linked with others.
#if defined(LOCKSTEP_COUNTS_NOTHING)
inline constexpr bool allocations_counted = false;
#else
inline constexpr bool allocations_counted = true;
#endif

}  // namespace lockstep::tools::benchmark

#if !defined(LOCKSTEP_COUNTS_NOTHING)
// Not inlined: gcc 12 would warn about free() of memory from operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
#if !defined(LOCKSTEP_COUNTS_MALLOC)
  ++lockstep::tools::benchmark::allocations_made;
#endif
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
