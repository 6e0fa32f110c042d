/* Waits and tests of every type: one word and several, with one value and with one of each. */
#include "check.h"

enum { words = 6 };

#define WAITS(name, type)                                                                             \
  static type name##_word[words];                                                                     \
  static void test_##name(void) {                                                                     \
    type* const w = name##_word;                                                                      \
    memset(w, 0, sizeof name##_word);                                                                 \
    shmem_barrier_all();                                                                              \
    /* Ping-pong around the ring. */                                                                  \
    for (int turn = 1; turn <= 3; ++turn) {                                                           \
      if (me == 0) shmem_##name##_p(w, (type)turn, next);                                             \
      shmem_##name##_wait_until(w, SHMEM_CMP_EQ, (type)turn);                                         \
      if (me != 0) shmem_##name##_p(w, (type)turn, next);                                             \
    }                                                                                                 \
    CHECK(shmem_##name##_test(w, SHMEM_CMP_EQ, 3) && !shmem_##name##_test(w, SHMEM_CMP_NE, 3));       \
    CHECK(shmem_##name##_test(w, SHMEM_CMP_GT, 2) && !shmem_##name##_test(w, SHMEM_CMP_GT, 3));       \
    CHECK(shmem_##name##_test(w, SHMEM_CMP_GE, 3) && !shmem_##name##_test(w, SHMEM_CMP_GE, 4));       \
    CHECK(shmem_##name##_test(w, SHMEM_CMP_LT, 4) && !shmem_##name##_test(w, SHMEM_CMP_LT, 3));       \
    CHECK(shmem_##name##_test(w, SHMEM_CMP_LE, 3) && !shmem_##name##_test(w, SHMEM_CMP_LE, 2));       \
    shmem_barrier_all();                                                                              \
    /* Several: words 1 and 3 come first, then the others. Word 5 is not waited for. */               \
    int status[words] = {0, 0, 0, 0, 0, 1};                                                           \
    size_t which[words];                                                                              \
    type values[words] = {9, 7, 9, 8, 9, 9};                                                          \
    memset(w, 0, sizeof name##_word);                                                                 \
    CHECK(shmem_##name##_test_any(w, words, NULL, SHMEM_CMP_NE, 0) == SIZE_MAX);                      \
    CHECK(shmem_##name##_test_some(w, words, which, NULL, SHMEM_CMP_NE, 0) == 0);                     \
    shmem_barrier_all();                                                                              \
    shmem_##name##_p(w + 1, 7, next);                                                                 \
    shmem_##name##_p(w + 3, 8, next);                                                                 \
    size_t found = shmem_##name##_wait_until_any(w, words, status, SHMEM_CMP_GE, 7);                  \
    CHECK(found == 1 || found == 3);                                                                  \
    found = shmem_##name##_wait_until_any_vector(w, words, status, SHMEM_CMP_EQ, values);             \
    CHECK(found == 1 || found == 3);                                                                  \
    shmem_##name##_wait_until(w + 3, SHMEM_CMP_EQ, 8);                                                \
    CHECK(shmem_##name##_wait_until_some(w, words, which, status, SHMEM_CMP_GT, 0) == 2);             \
    CHECK(which[0] == 1 && which[1] == 3);                                                            \
    CHECK(shmem_##name##_test_some_vector(w, words, which, status, SHMEM_CMP_EQ, values) == 2);       \
    CHECK(shmem_##name##_test_any_vector(w, words, status, SHMEM_CMP_GE, values) != SIZE_MAX);        \
    CHECK(!shmem_##name##_test_all(w, words, status, SHMEM_CMP_GE, 7));                               \
    CHECK(!shmem_##name##_test_all_vector(w, words, status, SHMEM_CMP_EQ, values));                   \
    shmem_barrier_all();                                                                              \
    for (int i = 0; i < words - 1; ++i) shmem_##name##_p(w + i, values[i], next);                     \
    shmem_##name##_wait_until_all_vector(w, words, status, SHMEM_CMP_EQ, values);                     \
    shmem_##name##_wait_until_all(w, words, status, SHMEM_CMP_GE, 7);                                 \
    CHECK(shmem_##name##_test_all(w, words, status, SHMEM_CMP_GE, 7));                                \
    CHECK(shmem_##name##_wait_until_some_vector(w, words, which, status, SHMEM_CMP_EQ, values) == 5); \
    CHECK(shmem_##name##_test_any(w, words, status, SHMEM_CMP_EQ, 7) == 1);                           \
    /* Nothing to wait for. */                                                                        \
    for (int i = 0; i < words; ++i) status[i] = 1;                                                    \
    shmem_##name##_wait_until_all(w, words, status, SHMEM_CMP_EQ, 99);                                \
    CHECK(shmem_##name##_wait_until_any(w, words, status, SHMEM_CMP_EQ, 99) == SIZE_MAX);             \
    CHECK(shmem_##name##_wait_until_some(w, 0, which, NULL, SHMEM_CMP_EQ, 99) == 0);                  \
    CHECK(shmem_##name##_test_all(w, words, status, SHMEM_CMP_EQ, 99));                               \
    shmem_barrier_all();                                                                              \
  }
PHICOLL_SHMEM_WAIT_TYPES(WAITS)

/* Deprecated: until a word changes. */
#define OLD_WAIT(name, type)                \
  {                                         \
    name##_word[0] = 1;                     \
    shmem_barrier_all();                    \
    shmem_##name##_p(name##_word, 2, next); \
    shmem_##name##_wait(name##_word, 1);    \
    CHECK(name##_word[0] == 2);             \
    shmem_barrier_all();                    \
  }

/* test_any comes to every word that holds. */
static void test_fairness(void) {
  int seen = 0;
  for (int i = 0; i < words; ++i) int_word[i] = 5;
  for (int i = 0; i < words; ++i) seen |= 1 << shmem_int_test_any(int_word, words, NULL, SHMEM_CMP_EQ, 5);
  CHECK(seen == (1 << words) - 1);
}

int main(void) {
  begin();
#define CALL(name, type) test_##name();
  PHICOLL_SHMEM_WAIT_TYPES(CALL)
  PHICOLL_SHMEM_OLD_WAIT_TYPES(OLD_WAIT)
  test_fairness();
  shmem_finalize();
  return 0;
}
