// Times shmem_barrier_all beside Communicator::barrier() of the same PEs, in turns. Prints one JSON object,
// nanoseconds a call: the median of several batches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <shmem.h>

#include "phicoll/shmem/communicator.hpp"

template <class Barrier>
double nanoseconds(Barrier barrier) {
  constexpr int calls = 500;
  barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) barrier();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

int main() {
  shmem_init();
  phicoll::Communicator& comm = phicoll::shmem::communicator();
  std::vector<double> all, one;
  for (int batch = 0; batch < 31; ++batch) {
    all.push_back(nanoseconds([] { shmem_barrier_all(); }));
    one.push_back(nanoseconds([&] { comm.barrier(); }));
  }
  const auto middle = [](std::vector<double>& took) {
    std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
    return took[took.size() / 2];
  };
  if (shmem_my_pe() == 0)
    std::printf("{\"barrier_all\": %.1f, \"Communicator::barrier\": %.1f}\n", middle(all), middle(one));
  shmem_finalize();
}
