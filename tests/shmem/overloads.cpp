// shmem.h in C++: overloads, complex numbers, and the team world's communicator.
#include <complex>
#include <functional>
#include <vector>

#include "check.h"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/shmem/communicator.hpp"
#include "shmemx.h"

namespace {

template <class T>
void test_transfers(shmem_ctx_t ctx) {
  static T words[4];
  T mine[3] = {1, 2, 3};
  shmem_barrier_all();
  shmem_p(&words[0], mine[2], next);
  shmem_put(words + 1, mine, 2, next);
  shmem_put(ctx, words + 3, mine + 1, 1, next);
  shmem_barrier_all();
  CHECK(words[0] == T(3) && words[1] == T(1) && words[2] == T(2) && words[3] == T(2));
  CHECK(shmem_g(static_cast<const T*>(words), next) == T(3) && shmem_g(ctx, words + 1, next) == T(1));
  static T sum, one;
  one = 1;
  CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0 && sum == T(n));
  CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, words, &one, n > 4 ? 0 : 1) == 0);
  shmem_sync(SHMEM_TEAM_WORLD);
}

template <class T>
void test_atomics(shmem_ctx_t ctx) {
  static T word;
  word = 5;
  shmem_barrier_all();
  CHECK(shmem_atomic_fetch_add(&word, T(2), next) == 5 && shmem_atomic_fetch_inc(ctx, &word, next) == 7);
  shmem_atomic_set(&word, T(1), next);
  shmem_wait_until(&word, SHMEM_CMP_EQ, T(1));
  shmem_barrier_all();
}

// std::complex has the layout of C's complex numbers.
void test_complex() {
  static std::complex<double> from, to;
  from = {1.0, me + 1.0};
  CHECK(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, reinterpret_cast<double _Complex*>(&to),
                                  reinterpret_cast<double _Complex*>(&from), 1) == 0);
  CHECK(to == std::complex<double>(n, n * (n + 1) / 2));
}

void test_communicator() {
  phicoll::Communicator& comm = phicoll::shmem::communicator();
  CHECK(comm.rank() == me && comm.size() == n);
  long sum = me;
  comm.allreduce(nullptr, &sum, 1, phicoll::find_operator(phicoll::Type::int64, phicoll::Op::sum));
  CHECK(sum == static_cast<long>(n) * (n - 1) / 2);
  shmem_barrier_all();
}

// What PE 0 has begun by phicoll's own calls goes on while it looks at its memory, or waits for it. PE 1
// tells it of the end.
void test_progress() {
  static long flag, lock;
  static const std::vector<char> sent(3200000, 7);
  static std::vector<char> got(sent.size());
  phicoll::Communicator& comm = phicoll::shmem::communicator();
  const int excluded = 0;
  std::size_t place = 0;
  long way = 0;
  const std::vector<std::function<bool()>> looks = {
      [&] { return shmem_test(&flag, SHMEM_CMP_EQ, way) != 0; },
      [&] { return shmem_test_all(&flag, 1, &excluded, SHMEM_CMP_EQ, way) != 0; },
      [&] { return shmem_test_any(&flag, 1, &excluded, SHMEM_CMP_EQ, way) == 0; },
      [&] { return shmem_test_some(&flag, 1, &place, &excluded, SHMEM_CMP_EQ, way) == 1; },
      [&] { return shmem_test_all_vector(&flag, 1, &excluded, SHMEM_CMP_EQ, &way) != 0; },
      [&] {
        shmem_wait_until(&flag, SHMEM_CMP_EQ, way);
        return true;
      },
      [&] { return shmem_test_lock(&lock) == 0; },
  };
  for (const auto& look : looks) {
    ++way;
    const bool locks = &look == &looks.back();
    if (me == 1 && locks) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 0) {
      const auto request = comm.begin_send(sent.data(), sent.size(), 1);
      while (!look()) continue;
      comm.wait(*request);
      if (locks) shmem_clear_lock(&lock);
    } else if (me == 1) {
      comm.receive(got.data(), got.size(), 0);
      CHECK(got == sent);
      shmem_p(&flag, way, 0);
      if (locks) shmem_clear_lock(&lock);
    }
  }
  shmem_barrier_all();
}

}  // namespace

int main() {
  begin();
  shmem_ctx_t ctx;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  test_transfers<char>(ctx);
  test_transfers<short>(ctx);
  test_transfers<unsigned long long>(ctx);
  test_transfers<float>(ctx);
  test_transfers<long double>(ctx);
  test_atomics<int>(ctx);
  test_atomics<unsigned long>(ctx);
  test_atomics<long long>(ctx);
  test_complex();
  test_communicator();
  if (n > 1) test_progress();
  static uint64_t signal;
  shmem_signal_add(ctx, &signal, 1, next);
  CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1) == 1);
  shmem_barrier_all();
  shmemx_signal_add(ctx, &signal, 1, next);
  CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 2) == 2);
  static double strided[4];
  const double two[2] = {me + 1.0, me + 2.0};
  shmemx_ibput(ctx, strided, two, 2, 1, 1, 2, next);
  shmem_barrier_all();
  CHECK(strided[0] == before + 1.0 && strided[1] == 0 && strided[2] == before + 2.0);
  shmem_finalize();
  return 0;
}
