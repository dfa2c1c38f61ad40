// Memory as allocated by the vendor's library: whole pages, contiguous, with a home.
#pragma once

#include <cstddef>

typedef struct {
  int home;
  size_t pagesize;
} tmc_alloc_t;

#define TMC_ALLOC_INIT {-4, 65536}
enum : int {
  TMC_ALLOC_HOME_HASH = -1,
  TMC_ALLOC_HOME_HERE = -2,
  TMC_ALLOC_HOME_TASK = -3,
  TMC_ALLOC_HOME_DEFAULT = -4,
};
// Where its lines are cached: one of these constants, or a core by number.
tmc_alloc_t* tmc_alloc_set_home(tmc_alloc_t* alloc, int home);
// Selects the smallest page that holds this many octets; nullptr: there is none.
tmc_alloc_t* tmc_alloc_set_pagesize(tmc_alloc_t* alloc, size_t bytes);
size_t tmc_alloc_get_pagesize(tmc_alloc_t* alloc);
// Zero-filled, rounded up to pages; nullptr: out of memory.
void* tmc_alloc_map(tmc_alloc_t* alloc, size_t bytes);
int tmc_alloc_unmap(void* memory, size_t bytes);
