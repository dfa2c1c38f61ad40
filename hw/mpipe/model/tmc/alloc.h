// Memory as the vendor's library hands it out: whole pages, contiguous, homed.
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
// Where its lines are cached: one of these, or a core by its number.
tmc_alloc_t* tmc_alloc_set_home(tmc_alloc_t* alloc, int home);
// The smallest page that holds so many octets, or nullptr where none does.
tmc_alloc_t* tmc_alloc_set_pagesize(tmc_alloc_t* alloc, size_t bytes);
size_t tmc_alloc_get_pagesize(tmc_alloc_t* alloc);
// All zero, rounded up to pages; nullptr: there is no more.
void* tmc_alloc_map(tmc_alloc_t* alloc, size_t bytes);
int tmc_alloc_unmap(void* memory, size_t bytes);
