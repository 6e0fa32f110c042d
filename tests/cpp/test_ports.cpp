// One source, every port: each barrier runs on threads, on the counting port and on the simulated machine,
// and what the counting port counts is what the simulated machine stores.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/ports/native_port.hpp"
#include "phicoll/sim/counting/count_machine.hpp"
#include "phicoll/sim/counting/count_port.hpp"
#include "phicoll/sim/counting/counts.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "sim_testing.hpp"

namespace phicoll {

void PrintTo(const AlgorithmInfo& algorithm, std::ostream* out) {
  *out << algorithm.name;
}

namespace {

/// Every parameter's every value, one at a time beside the defaults; what the algorithm refuses left out.
std::vector<std::string> variants(const AlgorithmInfo& algorithm) {
  std::vector<std::string> texts = {algorithm.name};
  for (const ParameterInfo& parameter : algorithm.parameters) {
    std::vector<std::string> values = parameter.choices;
    if (values.empty())
      for (const long value : {parameter.least, parameter.least + 1, parameter.least + 2})
        if (value <= parameter.most) values.push_back(std::to_string(value));
    for (const std::string& value : values) {
      const std::string text = algorithm.name + ":" + parameter.name + "=" + value;
      try {
        family(Operation::barrier).parse(text);
        texts.push_back(text);
      } catch (const ArgumentError&) {
      }
    }
  }
  return texts;
}

class EveryBarrier : public ::testing::TestWithParam<AlgorithmInfo> {};

TEST_P(EveryBarrier, RunsOnEveryPort) {
  constexpr int ranks = 5, calls = 3;
  const sim::Machine machine = sim::testing::chip(8);
  const Shape shape = place_ranks(ranks, machine.places(), Placement::balanced);
  for (const std::string& text : variants(GetParam())) {
    SCOPED_TRACE(text);
    const AlgorithmSpec spec = family(Operation::barrier).parse(text);

    const Counts counts = sim::count_collective(measure::Work(), spec, shape);
    EXPECT_GE(counts.rounds, 1);

    sim::CollectiveOptions options;
    options.calls = calls;
    options.simulation.check = true;
    const sim::CollectiveRun run = sim::simulate_collective(machine, measure::Work(), spec, shape, options);
    EXPECT_EQ(run.exit.size(), static_cast<std::size_t>(ranks * calls));
    // Every notification is a store or an atomic update; not all of those are notifications.
    EXPECT_GE(run.counters.stores + run.counters.atomics,
              counts.notifications * (options.warm_up + options.calls));

    ThreadGroup group(ranks);
    std::atomic<int> entered{0}, early{0};
    group.run([&](Communicator& communicator) {
      communicator.select(Operation::barrier, spec.text());
      for (int e = 0; e < calls; ++e) {
        entered.fetch_add(1);
        communicator.barrier();
        if (entered.load() < ranks * (e + 1)) early.fetch_add(1);
      }
    });
    EXPECT_EQ(early.load(), 0);
    EXPECT_EQ(entered.load(), ranks * calls);
  }
}

INSTANTIATE_TEST_SUITE_P(Ports, EveryBarrier, ::testing::ValuesIn(family(Operation::barrier).algorithms()),
                         [](const ::testing::TestParamInfo<AlgorithmInfo>& one) {
                           std::string name = one.param.name;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

// The contract itself: a program that uses all of it compiles for each port, and they agree on the values.
template <class Port>
std::uint64_t use_everything(Port& port, unsigned char* memory) {
  auto& w8 = *reinterpret_cast<Word<std::uint8_t>*>(memory);
  auto& w16 = *reinterpret_cast<Word<std::uint16_t>*>(memory + 2);
  auto& w32 = *reinterpret_cast<Word<std::uint32_t>*>(memory + 4);
  auto& w64 = *reinterpret_cast<Word<std::uint64_t>*>(memory + 8);
  auto& sole = *reinterpret_cast<SoleWriterLine<std::uint64_t>*>(memory + 64);
  auto& bytes = *reinterpret_cast<ByteLine*>(memory + 128);
  std::uint64_t sum = 0;
  const auto add = [&sum](std::uint64_t value) { sum = sum * 31 + value; };
  port.store_relaxed(w8, std::uint8_t{200});
  port.store_release(w16, std::uint16_t{60000});
  port.signal(w32, 4000000000u);
  add(port.load_relaxed(w8));
  add(port.load_acquire(w16));
  add(port.fetch_add(w8, std::uint8_t{100}));  // wraps
  add(port.load_relaxed(w8));
  add(port.exchange(w32, 7u));
  add(port.fetch_or(w16, std::uint16_t{3}));
  std::uint64_t expected = 5;
  add(port.compare_exchange(w64, expected, std::uint64_t{9}) ? 1 : 2);
  add(expected);
  add(port.compare_exchange(w64, expected, std::uint64_t{9}) ? 1 : 2);
  add(port.signal_add(w64, std::uint64_t{1}));
  add(port.signal_or(w64, std::uint64_t{0x100}));
  add(port.wait(w64, at_least(std::uint64_t{10})));
  add(port.wait(w32, equal(7u)));
  add(port.wait(w32, masked_equal(3u, 3u)));
  add(port.wait(w8, not_equal(std::uint8_t{0})));
  for (const StorePolicy policy :
       {StorePolicy::plain, StorePolicy::no_read, StorePolicy::no_read_unordered}) {
    port.signal(sole, std::uint64_t{77} + static_cast<std::uint64_t>(policy), policy);
    port.fence();
    add(port.load_acquire(sole.word));
  }
  port.signal_bytes(bytes, 5);
  port.wait_line(bytes, ~std::uint64_t{0}, 5);
  add(port.load_relaxed(bytes.bytes[63]));
  alignas(64) unsigned char image[64];
  port.load_line(&bytes, image);
  add(image[17]);
  port.prefetch(&bytes);
  port.evict(&bytes);
  port.pause();
  add(port.load_relaxed(bytes.bytes[3]));
  add(static_cast<std::uint64_t>(port.rank()));
  return sum;
}

TEST(Ports, AgreeOnTheContract) {
  std::uint64_t native = 0, counted = 0, simulated = 0;
  {
    auto* const memory = static_cast<unsigned char*>(allocate_strided(256));
    std::fill(memory, memory + 256, static_cast<unsigned char>(0));
    const std::unique_ptr<Control> control(new Control());
    control->configure(1, false, 0, 0);
    NativePort port(*control, 0, WaitPolicy());
    native = use_everything(port, memory);
    std::free(memory);
  }
  {
    const sim::Machine machine = sim::testing::chip(2);
    sim::SimOptions options;
    options.check = true;
    sim::Simulation simulation(machine, sim::testing::one_a_core(machine, 1), 256, options);
    simulation.run([&](sim::SimPort& port) { simulated = use_everything(port, simulation.memory()); });
  }
  {
    CountMachine machine(Shape::unknown(1), 256);
    CountPort port(machine, 0);
    machine.run_call([&](int) { counted = use_everything(port, machine.memory()); }, {});
  }
  EXPECT_EQ(native, simulated);
  EXPECT_EQ(native, counted);
}

}  // namespace
}  // namespace phicoll
