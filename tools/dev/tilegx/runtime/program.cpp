// Program start and end, and the small part of the C library's input and output that is used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/dev/tilegx/runtime/kernel.hpp"

namespace {

using namespace lockstep::tilegx;

// Both streams are output. Standard error is not buffered.
struct Stream {
  int descriptor;
  bool at_once;
  bool failed = false;
  size_t held = 0;
  std::byte buffer[65536] = {};
};

Stream streams[2] = {{1, false}, {2, true}};

// The header's FILE has no room for a buffer, so it only identifies a stream.
FILE handles[2];

Stream& stream_of(const FILE* handle) { return streams[handle - handles]; }

void flush(Stream& stream) {
  if (stream.held > 0 && !write_all(stream.descriptor, stream.buffer, stream.held)) {
    stream.failed = true;
  }
  stream.held = 0;
}

bool put(FILE* handle, const void* octets, size_t count) {
  Stream& stream = stream_of(handle);
  auto const* from = static_cast<const std::byte*>(octets);
  while (count > 0) {
    size_t const room = sizeof stream.buffer - stream.held;
    size_t const part = count < room ? count : room;
    memcpy(stream.buffer + stream.held, from, part);
    stream.held += part;
    from += part;
    count -= part;
    if (stream.held == sizeof stream.buffer) {
      flush(stream);
    }
  }
  if (stream.at_once) {
    flush(stream);
  }
  return !stream.failed;
}

}  // namespace

extern "C" {

FILE* const stdout = &handles[0];
FILE* const stderr = &handles[1];

size_t fwrite(const void* octets, size_t size, size_t count, FILE* handle) {
  return put(handle, octets, size * count) ? count : 0;
}

int fputs(const char* text, FILE* handle) { return put(handle, text, strlen(text)) ? 0 : EOF; }

int fputc(int letter, FILE* handle) {
  auto const octet = static_cast<unsigned char>(letter);
  return put(handle, &octet, 1) ? letter : EOF;
}

int fflush(FILE* handle) {
  flush(stream_of(handle));
  return stream_of(handle).failed ? EOF : 0;
}

int ferror(FILE* handle) { return stream_of(handle).failed ? 1 : 0; }

// Decimal digits only: callers have checked that the text begins with one.
unsigned long long strtoull(const char* text, char** end, int) {
  unsigned long long value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<unsigned long long>(*text - '0');
  }
  *end = const_cast<char*>(text);
  return value;
}

int clock_gettime(clockid_t clock, timespec* time) {
  read_clock(clock, *time);
  return 0;
}

clock_t clock() {
  timespec time{};
  read_clock(CLOCK_PROCESS_CPUTIME_ID, time);
  return time.tv_sec * CLOCKS_PER_SEC + time.tv_nsec / (1'000'000'000 / CLOCKS_PER_SEC);
}

void abort() { die("abort"); }

void exit(int code) {
  flush(streams[0]);
  end_now(code);
}

// Destructors are not run: the kernel frees everything.
int __cxa_atexit(void (*)(void*), void*, void*);
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
void* __dso_handle = nullptr;

using Constructor = void (*)();
extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));
void lockstep_construct();
void lockstep_construct() {
  for (Constructor* each = __init_array_start; each != __init_array_end; ++each) {
    (*each)();
  }
}

}  // extern "C"
