// Regions as LLVM's compilers begin them: in each other as deep as argv[1], the inner ones with a thread
// each, and with many variables.
#include <stdio.h>
#include <stdlib.h>

struct Place {
  int reserved, flags, reserved2, reserved3;
  const char* source;
};
static struct Place place = {0, 2, 0, 0, ";file;function;0;0;;"};

typedef void (*Micro)(int*, int*, ...);
void __kmpc_fork_call(struct Place*, int count, Micro, ...);

static void level(int* thread, int* bound, int* left, long* sum, int* one, int* two, int* three) {
  (void)thread, (void)bound;
  *sum += *one + *two + *three;
  int rest = *left - 1;
  if (rest > 0) __kmpc_fork_call(&place, 5, (Micro)level, &rest, sum, three, one, two);
}

#define TEN(n) n, n + 1L, n + 2L, n + 3L, n + 4L, n + 5L, n + 6L, n + 7L, n + 8L, n + 9L
#define LONGS(p) long p##0, long p##1, long p##2, long p##3, long p##4, long p##5, long p##6, long p##7, long p##8, long p##9
#define SUM(p) p##0 + p##1 + p##2 + p##3 + p##4 + p##5 + p##6 + p##7 + p##8 + p##9

static long twentieth, seventieth, total;

static void twenty(int* thread, int* bound, LONGS(a), LONGS(b)) {
  (void)thread, (void)bound;
  twentieth = b9;
  total = SUM(a) + SUM(b);
}

static void seventy(int* thread, int* bound, LONGS(a), LONGS(b), LONGS(c), LONGS(d), LONGS(e), LONGS(f), LONGS(g)) {
  (void)thread, (void)bound;
  seventieth = g9;
  total += SUM(a) + SUM(b) + SUM(c) + SUM(d) + SUM(e) + SUM(f) + SUM(g);
}

int main(int count, char** words) {
  int left = count > 1 ? atoi(words[1]) : 10, one = 1, two = 2, three = 3;
  long sum = 0;
  __kmpc_fork_call(&place, 5, (Micro)level, &left, &sum, &one, &two, &three);
  __kmpc_fork_call(&place, 20, (Micro)twenty, TEN(1L), TEN(11L));
  __kmpc_fork_call(&place, 70, (Micro)seventy, TEN(1L), TEN(11L), TEN(21L), TEN(31L), TEN(41L), TEN(51L), TEN(61L));
  printf("%ld %ld %ld %ld\n", sum, twentieth, seventieth, total);
  return 0;
}
