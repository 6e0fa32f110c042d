// Four threads meet a thousand times.
#include <phicoll/group/thread_group.hpp>

#include <cstdio>

int main() {
  phicoll::ThreadGroup group(4);
  group.run([](phicoll::Communicator& communicator) {
    for (int i = 0; i < 1000; ++i) communicator.barrier();
    if (communicator.rank() == 0)
      std::printf("%d ranks met by %s\n", communicator.size(), communicator.why().spec.text().c_str());
  });
}
