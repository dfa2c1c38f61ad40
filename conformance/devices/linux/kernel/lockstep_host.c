// SPDX-License-Identifier: GPL-2.0-only
// The part of the device that calls the C library: random octets from a seed, the end, and a fork
// with a copy of the kernel's memory. It becomes arch/um/os-Linux/lockstep_host.c.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int lockstep_host_fork(const char* path, int channel, int memory);
void lockstep_host_end(int code) __attribute__((noreturn));
ssize_t lockstep_host_random(void* to, size_t length);

// Random octets in place of the host's, from LS_SEED; -1 without it.
ssize_t lockstep_host_random(void* to, size_t length) {
  static unsigned long long state;
  static int started;
  unsigned char* octet = to;

  if (!started) {
    const char* const text = getenv("LS_SEED");
    started = 1;
    state = text ? strtoull(text, NULL, 0) * 2 + 1 : 0;
  }
  if (state == 0) {
    return -1;
  }
  for (size_t i = 0; i < length; i++) {
    unsigned long long mixed = (state += 0x9e3779b97f4a7c15ULL);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    octet[i] = (unsigned char)((mixed ^ (mixed >> 31)) >> 24);
  }
  return (ssize_t)length;
}

void lockstep_host_end(int code) { _exit(code); }

// A fork. The kernel's memory is a file that it maps, shared, in many places. So the child gets a
// copy of the file, and maps that in the same places; it runs on a stack of its own meanwhile,
// because the kernel's stack is in that memory.
enum { places_most = 4096, stack_bytes = 65536, maps_bytes = 1 << 20 };
struct place {
  void* at;
  unsigned long bytes;
  unsigned long offset;
  int access;
};
static struct place places[places_most];
static int places_count, copy_of_memory, kept_memory, kept_channel;
static struct sockaddr_un kept_path;
static void* resume_at[5];
static char stack_of_child[stack_bytes] __attribute__((aligned(16)));
static char maps[maps_bytes];

static int run_child(void* unused) {
  int channel;

  for (int i = 0; i < places_count; i++) {
    const struct place* const each = &places[i];
    if (mmap(each->at, each->bytes, each->access, MAP_SHARED | MAP_FIXED, copy_of_memory,
             (off_t)each->offset) == MAP_FAILED) {
      _exit(3);
    }
  }
  // What the kernel maps from now on, and copies in its turn, is the copy.
  dup2(copy_of_memory, kept_memory);
  close(copy_of_memory);
  channel = socket(AF_UNIX, SOCK_STREAM, 0);
  if (channel < 0 || connect(channel, (const void*)&kept_path, sizeof(kept_path)) != 0) {
    _exit(4);
  }
  dup2(channel, kept_channel);
  close(channel);
  __builtin_longjmp(resume_at, 1);
}

static int read_maps(void) {
  int const file = open("/proc/self/maps", O_RDONLY);
  ssize_t length = 0, got;

  if (file < 0) {
    return -errno;
  }
  while ((got = read(file, maps + length, sizeof(maps) - 1 - (size_t)length)) > 0) {
    length += got;
  }
  close(file);
  maps[length] = 0;
  return got < 0 ? -EIO : length == (ssize_t)sizeof(maps) - 1 ? -E2BIG : 0;
}

// Where the memory is mapped.
static int find_places(ino_t memory) {
  char* next;
  int const error = read_maps();

  if (error != 0) {
    return error;
  }
  places_count = 0;
  for (char* line = maps; line && *line; line = next) {
    unsigned long begin, end, offset, inode;
    unsigned int major, minor;
    char access[8];

    next = strchr(line, '\n');
    if (next) {
      *next++ = 0;
    }
    if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &begin, &end, access, &offset, &major, &minor,
               &inode) != 7 ||
        inode != memory || access[3] != 's') {
      continue;
    }
    if (places_count == places_most) {
      return -E2BIG;
    }
    places[places_count++] =
        (struct place){(void*)begin, end - begin, offset,
                       (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
                           (access[2] == 'x' ? PROT_EXEC : 0)};
  }
  return 0;
}

// Copies the memory, without its holes.
static int copy_memory(int memory, off_t size) {
  char *from, *to;
  off_t data = 0;
  int error;

  copy_of_memory = memfd_create("lockstep", MFD_CLOEXEC);
  if (copy_of_memory < 0 || ftruncate(copy_of_memory, size) != 0) {
    return -errno;
  }
  from = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, memory, 0);
  to = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, copy_of_memory, 0);
  if (from == MAP_FAILED || to == MAP_FAILED) {
    return -ENOMEM;  // the parent goes on with what it has mapped
  }
  while ((data = lseek(memory, data, SEEK_DATA)) >= 0) {
    off_t const hole = lseek(memory, data, SEEK_HOLE);
    memcpy(to + data, from + data, (size_t)(hole - data));
    data = hole;
  }
  error = errno == ENXIO ? 0 : -errno;  // ENXIO: no data is left
  munmap(from, (size_t)size);
  munmap(to, (size_t)size);
  return error;
}

// The child belongs to the parent's parent, which waits for it.
static int __attribute__((noinline)) start_child(void) {
  int const child =
      clone(run_child, stack_of_child + sizeof(stack_of_child), CLONE_PARENT | SIGCHLD, NULL);

  return child < 0 ? -errno : child;
}

// The process of the child, in the parent; 0 in the child, whose channel is a connection to the
// socket `path`; -errno.
int lockstep_host_fork(const char* path, int channel, int memory) {
  struct stat about;
  int done;

  if (strlen(path) >= sizeof(kept_path.sun_path)) {
    return -ENAMETOOLONG;
  }
  kept_path.sun_family = AF_UNIX;
  strcpy(kept_path.sun_path, path);
  kept_channel = channel;
  kept_memory = memory;
  if (__builtin_setjmp(resume_at)) {
    return 0;
  }
  if (fstat(memory, &about) != 0) {
    return -errno;
  }
  copy_of_memory = -1;
  done = find_places(about.st_ino);
  if (done == 0 && places_count == 0) {
    done = -ENOENT;
  }
  if (done == 0) {
    done = copy_memory(memory, about.st_size);
  }
  if (done == 0) {
    done = start_child();
  }
  if (copy_of_memory >= 0) {
    close(copy_of_memory);
  }
  return done;
}
