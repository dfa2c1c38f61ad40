// The library symbols that C++ headers need, so that the runner links no C++ library.
//
// An instrumented run (MemorySanitizer) must not call a library that was built without
// instrumentation, and a bare machine has no such library. Exceptions are off, so each failure that
// a header would throw ends the program and prints its name.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

[[noreturn]] void end(const char* what) {
  std::fputs("runner: ", stderr);
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

void* obtain(std::size_t bytes, std::size_t alignment) {
  const std::size_t wanted = bytes == 0 ? alignment : bytes;
  const std::size_t rounded = (wanted + alignment - 1) / alignment * alignment;
  void* memory = ::aligned_alloc(alignment, rounded);
  if (memory == nullptr) end("out of memory");
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return obtain(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](std::size_t bytes) { return obtain(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return obtain(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return obtain(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {
[[noreturn]] void __cxa_pure_virtual();
[[noreturn]] void __cxa_pure_virtual() { end("a pure virtual function was called"); }
// The runner has one thread, so a guard is either done or not.
int __cxa_guard_acquire(char* guard);
int __cxa_guard_acquire(char* guard) { return *guard == 0 ? 1 : 0; }
void __cxa_guard_release(char* guard);
void __cxa_guard_release(char* guard) { *guard = 1; }
}

namespace std {

[[noreturn]] void __throw_bad_alloc();
[[noreturn]] void __throw_bad_alloc() { end("out of memory"); }
[[noreturn]] void __throw_bad_array_new_length();
[[noreturn]] void __throw_bad_array_new_length() { end("bad array length"); }
[[noreturn]] void __throw_bad_optional_access();
[[noreturn]] void __throw_bad_optional_access() { end("an empty optional was read"); }
[[noreturn]] void __throw_length_error(const char* what);
[[noreturn]] void __throw_length_error(const char* what) { end(what); }
[[noreturn]] void __throw_logic_error(const char* what);
[[noreturn]] void __throw_logic_error(const char* what) { end(what); }
[[noreturn]] void __throw_out_of_range_fmt(const char* what, ...);
[[noreturn]] void __throw_out_of_range_fmt(const char* what, ...) { end(what); }
[[noreturn]] void __throw_bad_function_call();
[[noreturn]] void __throw_bad_function_call() { end("an empty function was called"); }

}  // namespace std
