// For programs with threads that check what they see: CHECK says what was wrong and goes on.
#include <stdatomic.h>
#include <stdio.h>

static atomic_int wrong;

#define CHECK(condition)                                 \
  do {                                                   \
    if (!(condition)) {                                  \
      printf("line %d: not %s\n", __LINE__, #condition); \
      wrong = 1;                                         \
    }                                                    \
  } while (0)
