// The host's numbers: measured at a group's first large call, kept in the user's cache, and the same on all
// ranks.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "patience.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/memory/hand_over.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/own_file.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {
namespace {

constexpr std::size_t large = 64 << 10;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Takes the lock of those that measure, while the process lives or until the descriptor that it returns is
/// closed; -1 if another process has it.
int lock_calibration() {
  const int file = open((calibration_file() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (file < 0 || fcntl(file, F_SETLK, &whole) == 0) return file;
  close(file);
  return -1;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

/// A cache of its own for each test, and calibration on. What a process has measured it remembers, so the
/// groups of a test are in children.
class Calibration : public ::testing::Test {
 protected:
  void SetUp() override {
    if (os::allowed_cpu_count() < 2) GTEST_SKIP() << "one CPU: no two ranks could measure";
    char name[] = "/tmp/phicoll-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    cache_ = name;
    setenv("XDG_CACHE_HOME", name, 1);
    setenv("PHICOLL_CALIBRATION", "on", 1);
    disturbed_percent() = 100;  // whatever else runs beside the tests
  }
  void TearDown() override {
    disturbed_percent() = usual_percent_;
    setenv("PHICOLL_CALIBRATION", "off", 1);
    if (!cache_.empty() && std::system(("rm -rf " + cache_).c_str()) != 0) ADD_FAILURE() << cache_;
  }
  void write_file(const std::string& text) {
    mkdir((cache_ + "/phicoll").c_str(), 0700);
    std::ofstream(calibration_file()) << text;
  }
  /// Since the file was written.
  void pass_a_minute() {
    const struct timespec before[2] = {{std::time(nullptr) - 65, 0}, {std::time(nullptr) - 65, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, calibration_file().c_str(), before, 0), 0);
  }
  std::string file_with(const std::string& numbers) {
    return "phicoll tuning 1\nmachine " + host_kind() + "\n" + numbers;
  }
  std::string cache_;
  const int usual_percent_ = disturbed_percent();
};

HostNumbers after_calls(Communicator& comm, const std::vector<std::size_t>& sizes) {
  const auto p = static_cast<std::size_t>(comm.size());
  for (const std::size_t bytes : sizes) {
    std::vector<unsigned char> send(bytes, static_cast<unsigned char>(comm.rank() + 1)), receive(p * bytes);
    comm.allgather(send.data(), receive.data(), bytes);
    for (std::size_t r = 0; r < p; ++r)
      if (receive[r * bytes] != r + 1 || receive[(r + 1) * bytes - 1] != r + 1) throw Error("a wrong result");
  }
  return comm.shape().host();
}

/// Whether all ranks have the same numbers.
bool alike(Communicator& comm) {
  const HostNumbers mine = comm.shape().host();
  for (const HostNumberField& field : host_number_fields) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
    comm.allgather(&(mine.*field.value), all.data(), sizeof(std::int64_t));
    for (const std::int64_t value : all)
      if (value != mine.*field.value) return false;
  }
  return true;
}

/// Runs two threads in a child: what `check` returned on both, or 98 where they differ.
template <class Check>
int in_threads(const Check& check, int ranks = 2, const GroupOptions& options = GroupOptions()) {
  return status_of(in_process([&] {
    std::vector<int> found(static_cast<std::size_t>(ranks), 97);
    ThreadGroup(ranks, options).run([&](Communicator& comm) {
      found[static_cast<std::size_t>(comm.rank())] = check(comm);
    });
    for (const int one : found)
      if (one != found[0]) return 98;
    return found[0];
  }));
}

int state_after(Communicator& comm, const std::vector<std::size_t>& sizes) {
  const HostNumbers numbers = after_calls(comm, sizes);
  return alike(comm) ? static_cast<int>(numbers.state) : 96;
}

TEST_F(Calibration, AFirstLargeCallMeasuresAndASmallOneDoesNot) {
  EXPECT_EQ(in_threads([](Communicator& comm) {
              return state_after(comm, {8, 4096, 16384});
            }),
            HostNumbers::wanted);
  EXPECT_FALSE(exists(calibration_file()));
  EXPECT_EQ(in_threads([](Communicator& comm) {
              return state_after(comm, {8, 4096, large, 8, large});
            }),
            HostNumbers::measured);
  HostNumbers numbers;
  const TuningTable table = TuningTable::read(calibration_file());
  EXPECT_EQ(table.machine(), host_kind());
  EXPECT_TRUE(table.has_numbers());
}

// As under the preloads: a program that ends soon would only lose by measuring.
TEST_F(Calibration, AGroupMayMeasureLateOnly) {
  GroupOptions options;
  options.calibrate_after_ms = 3600 * 1000;
  const std::vector<std::size_t> calls = {8, large, large, large, 4 * large, large, 8, large};
  EXPECT_EQ(in_threads([&](Communicator& comm) { return state_after(comm, calls); }, 2, options),
            HostNumbers::wanted);
  EXPECT_FALSE(exists(calibration_file()));
  options.calibrate_after_ms = 1;
  const auto late = [&](Communicator& comm) {
    // Reduces among two ranks, which no number decides, are not among those that ask by turns.
    std::vector<char> mine(large), all(large);
    const auto reduce = [&] {
      comm.reduce(mine.data(), all.data(), large, find_operator(Type::int8, Op::sum), 0);
    };
    reduce();
    if (state_after(comm, {large}) != HostNumbers::wanted) return 10;  // none has come before it
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    reduce();
    if (state_after(comm, {large}) != HostNumbers::wanted) return 11;  // one of two asks
    reduce();
    return state_after(comm, {large});
  };
  EXPECT_EQ(in_threads(late, 2, options), HostNumbers::measured);
  EXPECT_EQ(unlink(calibration_file().c_str()), 0);
  fork_and_run(2, options, [&](Communicator& comm) {
    if (late(comm) != HostNumbers::measured) throw Error("not measured");
  });
  EXPECT_TRUE(exists(calibration_file()));
}

TEST_F(Calibration, TakesATenthOfASecondAtMost) {
  const os::SharedMemory page = os::SharedMemory::create("page", 4096);
  auto* const first_large_call = new (page.data()) std::atomic<std::int64_t>(0);
  // A sanitizer: what is measured here is that there is a bound at all.
  expect_within(2 * second_ns, [&] {
    std::remove(calibration_file().c_str());
    EXPECT_EQ(in_threads([&](Communicator& comm) {
                after_calls(comm, {large / 4});
                comm.barrier();
                const std::int64_t start = os::now_ns();
                after_calls(comm, {large});
                if (comm.rank() == 0) *first_large_call = os::now_ns() - start;
                return static_cast<int>(comm.shape().host().state);
              }),
              HostNumbers::measured);
    std::printf("the first large call: %.1f ms\n", static_cast<double>(*first_large_call) / 1e6);
    return first_large_call->load();
  });
}

// Measuring makes broadcasts within the one that it serves.
TEST_F(Calibration, AFirstLargeBroadcastArrivesWhole) {
  for (const std::size_t bytes : {large, 16 * large})
    EXPECT_EQ(in_threads([bytes](Communicator& comm) {
                std::vector<unsigned char> data(bytes + 1, 7);
                for (int call = 0; call < 3; ++call) {
                  const int root = (call + 1) % 2;
                  if (comm.rank() == root)
                    for (std::size_t i = 0; i < bytes; ++i)
                      data[i] = static_cast<unsigned char>(i * 13 + static_cast<std::size_t>(call));
                  comm.broadcast(data.data(), bytes, root);
                  for (std::size_t i = 0; i < bytes; ++i)
                    if (data[i] != static_cast<unsigned char>(i * 13 + static_cast<std::size_t>(call)))
                      return 10 + call;
                  if (data[bytes] != 7) return 20 + call;
                }
                return static_cast<int>(comm.shape().host().state);
              }),
              HostNumbers::measured)
        << bytes;
}

TEST_F(Calibration, AGroupBeginsWithWhatTheFileSays) {
  write_file(file_with("number rotate 4099\nnumber far 90\n"));
  const auto expect_file = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    CallFacts facts;
    facts.operation = Operation::scan;
    facts.bytes = 5000;
    const bool used = comm.size() > 2 || comm.collectives().why(facts).numbers.find("rotate=4099") == 0;
    return numbers.rotate == 4099 && numbers.far == 90 && numbers.state == HostNumbers::measured && used ? 0
                                                                                                         : 1;
  };
  EXPECT_EQ(in_threads(expect_file), 0);
  EXPECT_EQ(in_threads(expect_file, 5), 0);
  fork_and_run(2, GroupOptions(), [&](Communicator& comm) {
    if (expect_file(comm) != 0) throw Error("not the file's numbers");
  });
  EXPECT_EQ(text_of(calibration_file()), file_with("number rotate 4099\nnumber far 90\n"))
      << "it was not written again";
}

TEST_F(Calibration, RanksThatWouldReadDifferentFilesHaveTheirMakersNumbers) {
  write_file(file_with("number rotate 4099\n"));
  fork_and_run(3, GroupOptions(), [&](Communicator& comm) {
    if (comm.rank() == 1) setenv("PHICOLL_CALIBRATION", "off", 1);
    if (comm.rank() == 2) setenv("XDG_CACHE_HOME", "/nowhere", 1);
    if (after_calls(comm, {8, large}).rotate != 4099 || !alike(comm)) throw Error("the ranks differ");
  });
}

TEST_F(Calibration, RanksWithDifferentCachesMeasureTogether) {
  fork_and_run(4, GroupOptions(), [&](Communicator& comm) {
    if (comm.rank() == 1) setenv("PHICOLL_CALIBRATION", "off", 1);
    if (comm.rank() == 3) setenv("XDG_CACHE_HOME", "/nowhere", 1);
    if (state_after(comm, {8, large, large}) != HostNumbers::measured) throw Error("the ranks differ");
  });
  EXPECT_TRUE(exists(calibration_file()));
}

TEST_F(Calibration, AFileThatIsNoneOfThisHostsIsReplaced) {
  const std::string foreign = "phicoll tuning 1\nmachine Another CPU\nnumber rotate 4099\n";
  for (const std::string& text :
       {std::string("\x7f"
                    "ELF\0\1",
                    6),
        std::string(), std::string("phicoll tuning 1\nmachine " + host_kind() + "\nnumber ro"),
        "phicoll tuning 0\nmachine " + host_kind() + "\nnumber rotate 4099\n", foreign,
        file_with("number rotate 0\n"), file_with("number near-copy 5\n"),
        file_with("number sizes-seen 256\n")}) {
    write_file(text);
    EXPECT_EQ(in_threads([](Communicator& comm) {
                return after_calls(comm, {large}).rotate == 4099             ? 1
                       : state_after(comm, {large}) == HostNumbers::measured ? 0
                                                                             : 2;
              }),
              0)
        << text;
    EXPECT_NE(text_of(calibration_file()), text);
    EXPECT_EQ(TuningTable::read(calibration_file()).machine(), host_kind());
  }
}

TEST_F(Calibration, AFileThatAnotherUserCouldHaveWrittenIsNeitherReadNorReplaced) {
  const auto numbers_of = [](Communicator& comm) {
    return after_calls(comm, {large}).rotate == 4099 ? 1 : 0;
  };
  write_file(file_with("number rotate 4099\n"));
  const std::string file = calibration_file(), folder = cache_ + "/phicoll";
  EXPECT_EQ(os::foreign_reason(file), "");
  EXPECT_EQ(in_threads(numbers_of), 1);
  const auto refused = [&](const std::string& reason) {
    EXPECT_EQ(os::foreign_reason(file), reason);
    testing::internal::CaptureStderr();
    EXPECT_EQ(in_threads(numbers_of), 0) << reason;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        said.find("the host's numbers in " + file + " are not used, as " + reason + "; set XDG_CACHE_HOME"),
        std::string::npos)
        << said;
    EXPECT_EQ(text_of(file), file_with("number rotate 4099\n"));
  };
  for (const std::string& path : {file, folder, cache_}) {
    struct stat facts;
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    ASSERT_EQ(chmod(path.c_str(), facts.st_mode | S_IWOTH), 0);
    refused("others may write '" + path + "'");
    ASSERT_EQ(chmod(path.c_str(), facts.st_mode), 0);
    if (geteuid() != 0) continue;
    ASSERT_EQ(chown(path.c_str(), 1234, 1234), 0);
    refused("'" + path + "' belongs to user 1234");
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  // A link is as good as where it leads, and whose it is.
  const std::string link = cache_ + "/link", by_link = link + file.substr(folder.size());
  ASSERT_EQ(symlink("./x/../phicoll", link.c_str()), 0);
  ASSERT_EQ(mkdir((cache_ + "/x").c_str(), 0700), 0);
  EXPECT_EQ(os::foreign_reason(by_link), "");
  ASSERT_EQ(chmod((cache_ + "/x").c_str(), 0777), 0);
  EXPECT_EQ(os::foreign_reason(by_link), "others may write '" + cache_ + "/x'");
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((cache_ + "/x").c_str(), 0700), 0);
    ASSERT_EQ(lchown(link.c_str(), 1234, 1234), 0);
    EXPECT_EQ(os::foreign_reason(by_link), "'" + link + "' belongs to user 1234");
  }
  EXPECT_EQ(os::foreign_reason(cache_ + "/none/file"), "");
  EXPECT_EQ(os::foreign_reason("/tmp/none-such"), "others may write '/tmp'");
}

TEST_F(Calibration, AnotherVersionsFileIsLeftAlone) {
  std::string older = calibration_file();
  older.replace(older.rfind("calibration-12-"), 15, "calibration-0-");
  write_file("");
  ASSERT_EQ(unlink(calibration_file().c_str()), 0);
  std::ofstream(older) << file_with("number rotate 4099\n");
  EXPECT_EQ(in_threads([](Communicator& comm) { return after_calls(comm, {large}).rotate == 4099 ? 1 : 0; }),
            0);
  EXPECT_EQ(text_of(older), file_with("number rotate 4099\n"));
  EXPECT_TRUE(exists(calibration_file()));
}

TEST_F(Calibration, WhereNoFileCanBeWrittenAProcessRemembers) {
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  EXPECT_EQ(status_of(in_process([] {
              ThreadGroup group(2);
              int state = 0;
              for (int i = 0; i < 2; ++i)
                group.run([&](Communicator& comm) {
                  // The second run knows before its first call.
                  const bool known = comm.shape().host().sizes_seen != 0;
                  const bool right = known == (i == 1) && state_after(comm, {large}) == HostNumbers::measured;
                  if (!right) throw Error("measured twice, or never");
                });
              return state;
            })),
            0);
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "relative", 1);
  EXPECT_EQ(calibration_file(), "");
  EXPECT_EQ(in_threads([](Communicator& comm) { return state_after(comm, {large}); }), HostNumbers::measured);
}

TEST_F(Calibration, OffReadsNothingAndReadWritesNothing) {
  write_file(file_with("number rotate 4099\n"));
  setenv("PHICOLL_CALIBRATION", "off", 1);
  const auto state = [](Communicator& comm) { return state_after(comm, {large}); };
  EXPECT_EQ(in_threads(state), HostNumbers::built_in);
  setenv("PHICOLL_CALIBRATION", "read", 1);
  EXPECT_EQ(in_threads(state), HostNumbers::measured);
  unlink(calibration_file().c_str());
  EXPECT_EQ(in_threads(state), HostNumbers::built_in);
  EXPECT_FALSE(exists(calibration_file()));
  setenv("PHICOLL_CALIBRATION", "yes", 1);
  try {
    ThreadGroup group(2);
    FAIL() << "a word that means nothing";
  } catch (const ArgumentError& error) {
    EXPECT_EQ(std::string(error.what()), "PHICOLL_CALIBRATION: got 'yes'; allowed: on, read, off");
  }
}

TEST_F(Calibration, OfTwoGroupsAtOnceOneMeasures) {
  write_file("");
  unlink(calibration_file().c_str());
  const int lock = lock_calibration();
  ASSERT_GE(lock, 0);
  EXPECT_EQ(in_threads([](Communicator& comm) {
              return state_after(comm, {large, large});
            }),
            HostNumbers::built_in)
      << "another group measures";
  EXPECT_FALSE(exists(calibration_file()));
  close(lock);
  // Really at once: the second one has the defaults or the first one's file.
  std::vector<pid_t> groups;
  for (int g = 0; g < 4; ++g)
    groups.push_back(in_process([] {
      int wrong = 0;
      ThreadGroup(2).run([&](Communicator& comm) {
        if (state_after(comm, {large, large}) == HostNumbers::wanted) throw Error("not decided");
      });
      return wrong;
    }));
  for (const pid_t group : groups) EXPECT_EQ(status_of(group), 0);
  EXPECT_EQ(TuningTable::read(calibration_file()).machine(), host_kind());
}

TEST_F(Calibration, ATablesNumbersAreNotMeasuredAway) {
  write_file(file_with("number rotate 4099\nnumber wide 77777\n"));
  const std::string path = cache_ + "/mine.tuning";
  std::ofstream(path) << "phicoll tuning 1\nnumber rotate 5001\n";
  GroupOptions options;
  options.tuning = path;
  const auto check = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    return numbers.rotate == 5001 ? 0 : 1;
  };
  EXPECT_EQ(in_threads(check, 2, options), 0);
  unlink(calibration_file().c_str());
  EXPECT_EQ(in_threads(check, 2, options), 0);
}

TEST_F(Calibration, ATablesNumbersStayOutOfTheFile) {
  const std::string path = cache_ + "/mine.tuning";
  std::ofstream(path) << "phicoll tuning 1\nnumber rotate 5001\nnumber wide 77777\nnumber near-copy 1\n";
  EXPECT_EQ(
      status_of(in_process([&] {
        GroupOptions options;
        options.tuning = path;
        ThreadGroup(2, options).run([](Communicator& comm) {
          const HostNumbers numbers = after_calls(comm, {large});
          if (numbers.state != HostNumbers::measured || numbers.rotate != 5001 || numbers.wide != 77777)
            throw Error("not the table's");
        });
        if (TuningTable::read(calibration_file()).text().find("\nnumber wide 131072\n") == std::string::npos)
          return 1;
        unlink(calibration_file().c_str());
        return stored_numbers().wide == HostNumbers().wide ? 0 : 2;  // what the process remembers
      })),
      0);
}

TEST_F(Calibration, NeedsTheHeapTwoCpusAndPatience) {
  GroupOptions options;
  options.heap_limit = 0;
  const auto state = [](Communicator& comm) { return state_after(comm, {large}); };
  EXPECT_EQ(in_threads(state, 3, options), HostNumbers::built_in) << "no room to measure in";
  options = GroupOptions();
  options.timeout_ms = 500;
  EXPECT_EQ(in_threads(state, 2, options), HostNumbers::built_in) << "others might wait too long";
  options = GroupOptions();
  options.placement = std::to_string(os::allowed_cpus()[0]);
  EXPECT_EQ(in_threads(state, 2, options), HostNumbers::built_in) << "one CPU";
  EXPECT_EQ(in_threads(state, 1), HostNumbers::built_in) << "one rank";
  EXPECT_FALSE(exists(calibration_file()));
}

// As the communicator of all ranks that serves an MPI's world.
TEST_F(Calibration, AnotherCommunicatorOfAllRanksMeasures) {
  EXPECT_EQ(in_threads([](Communicator& comm) {
              const std::unique_ptr<Communicator> all = comm.create_group({1, 0});
              if (state_after(*all, {8, large}) != HostNumbers::measured) return 1;
              if (comm.rank() == 0 && !exists(calibration_file())) return 2;
              return state_after(comm, {large}) == HostNumbers::measured ? 0 : 3;
            }),
            0);
}

/// Makes a large call on each communicator. Returns how often its group measured, which writes the file that
/// is removed here; 90 if a communicator did not learn the numbers, 96 if ranks differ.
int looks_of(Communicator& whole, const std::vector<Communicator*>& comms) {
  int looks = 0;
  for (Communicator* const comm : comms) {
    const int state = state_after(*comm, {8, large, large});
    if (state != HostNumbers::measured) return state == 96 ? 96 : 90;
    std::uint64_t looked = 0;
    if (whole.rank() == 0 && exists(calibration_file())) looked = unlink(calibration_file().c_str()) == 0;
    whole.broadcast(&looked, sizeof looked, 0);
    looks += static_cast<int>(looked);
  }
  return looks;
}

int looks_of_dups(Communicator& comm) {
  std::vector<std::unique_ptr<Communicator>> dups;
  std::vector<Communicator*> in_turn;
  const auto dup = [&](Communicator& of) {
    dups.push_back(of.dup(1 << 20));
    return dups.back().get();
  };
  for (int i = 0; i < 10; ++i) in_turn.push_back(dup(comm));
  if (dups[0]->shape().host().state != HostNumbers::wanted) return 91;
  const int looks = looks_of(comm, in_turn);
  if (comm.shape().host().state != HostNumbers::wanted) return 92;
  // Made by one that has made no large call.
  Communicator* const later = dup(comm);
  if (later->shape().host().state != HostNumbers::measured || !alike(*later)) return 93;
  return looks + looks_of(comm, {later, dup(*later), dup(*dups[3]), &comm, dup(comm)});
}

TEST_F(Calibration, AGroupLooksOnceWhateverCommunicatorsCall) {
  EXPECT_EQ(in_threads(looks_of_dups), 1);
  EXPECT_EQ(in_threads(looks_of_dups, 4), 1);
  for (const int ranks : {2, 3})
    fork_and_run(ranks, GroupOptions(), [](Communicator& comm) {
      const int looks = looks_of_dups(comm);
      if (looks != 1) throw Error(std::to_string(looks));
    });
}

TEST_F(Calibration, PartsBeginWithWhatTheGroupLearnedElsewhere) {
  EXPECT_EQ(in_threads(
                [](Communicator& comm) {
                  const std::unique_ptr<Communicator> all = comm.create_group({3, 1, 0, 2});
                  const std::unique_ptr<Communicator> before = comm.split(comm.rank() % 2, 0);
                  if (looks_of(comm, {all.get()}) != 1) return 1;
                  const std::unique_ptr<Communicator> after = comm.split(comm.rank() % 2, 0);
                  return before->shape().host().state == HostNumbers::built_in &&
                                 after->shape().host().state == HostNumbers::measured && alike(*after)
                             ? 0
                             : 2;
                },
                4),
            0);
}

// The first rank of a new communicator tells the others, and waits for none: it may be here before a large
// call of all ranks, and the others after it.
TEST_F(Calibration, RanksThatMakeACommunicatorAtDifferentTimesHaveTheSameNumbers) {
  for (const int ranks : {2, 3}) {
    std::remove(calibration_file().c_str());
    const auto first = ranks == 2 ? HostNumbers::wanted : HostNumbers::built_in;
    const auto then = ranks == 2 ? HostNumbers::measured : HostNumbers::built_in;
    EXPECT_EQ(in_threads(
                  [&](Communicator& comm) {
                    std::unique_ptr<Communicator> made;
                    if (comm.rank() == 0) made = comm.create_group({0, 1});
                    if (state_after(comm, {large}) != HostNumbers::measured) return 1;
                    if (comm.rank() == 1) made = comm.create_group({0, 1});
                    if (!made) return 0;
                    if (made->shape().host().state != first || !alike(*made)) return 2;
                    return state_after(*made, {large}) == then ? 0 : 3;
                  },
                  ranks),
              0)
        << ranks;
  }
}

TEST_F(Calibration, ThreadsOfARankThatCallAtOnceLookOnce) {
  const auto calls = [](Communicator& comm) {
    const std::unique_ptr<Communicator> one = comm.dup(), other = comm.dup();
    int state = 0;
    std::thread beside([&] {
      try {
        for (int i = 0; i < 50; ++i) after_calls(*other, {large});
        state = 1;
      } catch (const Error& error) {
        other->fail(error);
      }
    });
    for (int i = 0; i < 50; ++i) after_calls(*one, {large});
    beside.join();
    if (state != 1) return 80;
    if (looks_of(comm, {one.get()}) != 1) return 81;  // the file is there
    return looks_of(comm, {other.get(), one.get(), &comm});
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(in_threads(calls), 0);
  fork_and_run(2, GroupOptions(), [&](Communicator& comm) {
    const int looks = calls(comm);
    if (looks != 0) throw Error(std::to_string(looks));
  });
}

// Each rank makes what its begun calls need when it begins the first. By the file's numbers, which the group
// takes over meanwhile, the call would have other cells: the ranks would refuse each other's.
TEST_F(Calibration, BegunCallsHaveTheSameNumbersWheneverARankBegins) {
  EXPECT_EQ(in_threads([this](Communicator& comm) {
              constexpr std::size_t count = 4 << 10;
              std::vector<std::int32_t> send(2 * count, 1), receive(count);
              const Operator op = find_operator(Type::int32, Op::sum);
              const Request sums = Request::reduce_scatter_block(send.data(), receive.data(), count, op);
              std::shared_ptr<BegunCall> request;
              const auto begin = [&] { request = comm.begin(sums); };
              const std::string before = comm.why(sums).spec.text();
              if (comm.rank() == 0) {
                begin();
                write_file(file_with(
                    "number rotate 4099\nnumber near-seen 1\nnumber far-seen 1\nnumber sizes-seen 255\n"));
              }
              if (after_calls(comm, {large}).rotate != 4099 || comm.why(sums).spec.text() == before) return 1;
              if (comm.rank() == 1) begin();
              comm.wait(*request);
              if (std::count(receive.begin(), receive.end(), 2) != static_cast<std::ptrdiff_t>(count))
                return 2;
              return 0;
            }),
            0);
}

TEST_F(Calibration, APartOfAGroupDoesNotMeasure) {
  EXPECT_EQ(in_threads(
                [](Communicator& comm) {
                  const std::unique_ptr<Communicator> part = comm.split(comm.rank() % 2, 0);
                  const auto before = after_calls(*part, {large}).state;
                  comm.barrier();
                  const auto whole = state_after(comm, {large});
                  const std::unique_ptr<Communicator> later = comm.split(comm.rank() % 2, 0);
                  return before == HostNumbers::built_in && whole == HostNumbers::measured &&
                                 later->shape().host().state == HostNumbers::measured
                             ? 0
                             : 1;
                },
                4),
            0);
}

TEST_F(Calibration, ARankWhichMakesAnotherCallIsNamed) {
  const int status = status_of(in_process([] {
    try {
      ThreadGroup(2).run([&](Communicator& comm) {
        std::vector<unsigned char> data(4 * large);
        if (comm.rank() == 0)
          comm.allgather(data.data(), data.data() + large, large);
        else
          comm.broadcast(data.data(), 8, 1), comm.barrier();
      });
    } catch (const BrokenGroupError& error) {
      const std::string text = error.what();
      const bool both =
          text.find("allgather") != std::string::npos && text.find("broadcast") != std::string::npos;
      if (!both) std::fprintf(stderr, "%s\n", error.what());
      return both ? 0 : 2;
    }
    return 1;
  }));
  EXPECT_EQ(status, 0);
}

TEST_F(Calibration, RanksThatShareCpusMeasureSizesOfTheirOwn) {
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  // Whose sizes were measured, in either state of the CPUs.
  const auto seen = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    const std::int64_t either = numbers.sizes_seen % 16 | numbers.sizes_seen / 16;
    return alike(comm) && numbers.state == HostNumbers::measured ? static_cast<int>(either) : 96;
  };
  EXPECT_EQ(in_threads(seen, 4, options), HostNumbers::few);
  EXPECT_EQ(in_threads(seen, 2, options), HostNumbers::few + HostNumbers::pair)
      << "a file without a group's sizes is completed";
  EXPECT_EQ(in_threads(seen, 6, options), HostNumbers::few + HostNumbers::pair + HostNumbers::many);
  EXPECT_NE(text_of(calibration_file()).find("\nnumber sizes-seen "), std::string::npos);
}

Shape shape_on(const std::vector<int>& cpus) {
  std::vector<CpuLocation> places(cpus.size());
  for (std::size_t r = 0; r < cpus.size(); ++r) places[r].cpu = cpus[r];
  return Shape(places);
}

TEST_F(Calibration, AGroupsShapeSaysWhichSizesItLacks) {
  EXPECT_EQ(sharing_of(shape_on({0, 1, 2, 3})), HostNumbers::pair);
  EXPECT_EQ(sharing_of(shape_on({0, 1, 0, 1})), HostNumbers::few);
  EXPECT_EQ(sharing_of(shape_on({0, 1, 0, 1, 0})), HostNumbers::many);
  EXPECT_EQ(sharing_of(Shape::unknown(5, true)), HostNumbers::unplaced);
  EXPECT_EQ(sharing_of(Shape::unknown(4, true)), HostNumbers::few);
  HostNumbers stored;
  stored.state = HostNumbers::measured;
  stored.near_seen = stored.far_seen = 1;
  stored.sizes_seen =
      HostNumbers::seen_in(false, HostNumbers::pair) + HostNumbers::seen_in(true, HostNumbers::pair);
  EXPECT_FALSE(lacks_numbers(stored, shape_on({0, 1, 2, 3}), 8));
  EXPECT_TRUE(lacks_numbers(stored, shape_on({0, 1, 0, 1}), 8));
  EXPECT_FALSE(lacks_numbers(HostNumbers(), shape_on({0, 0}), 8));
  EXPECT_FALSE(lacks_numbers(HostNumbers(), Shape::unknown(2, true), 1));
}

TEST_F(Calibration, RanksOfTwoCoresMeasureIfThereAreSome) {
  std::vector<CpuLocation> places(4);  // as siblings are numbered on many hosts: 0 and 1 are one core
  for (int r = 0; r < 4; ++r) {
    places[static_cast<std::size_t>(r)].cpu = r;
    places[static_cast<std::size_t>(r)].core = r / 2;
  }
  EXPECT_EQ(calibrating_peer(Shape(places)), 2);
  places[2].package = places[3].package = 1;  // whose cores are numbered from 0 again
  places[2].core = places[3].core = 0;
  EXPECT_EQ(calibrating_peer(Shape(places)), 2);
  places.resize(2);
  EXPECT_EQ(calibrating_peer(Shape(places)), 1);
  EXPECT_EQ(calibrating_peer(shape_on({0, 0, 1})), 2) << "cores are not known";
  EXPECT_EQ(calibrating_peer(shape_on({0, 0})), -1);
}

TEST_F(Calibration, AGroupThatSpansCachesIsNotCoveredByNearNumbers) {
  std::vector<CpuLocation> places(2);
  places[1].cpu = places[1].core = places[1].l3 = 1;
  places[0].cpu = places[0].core = places[0].l3 = 0;
  HostNumbers stored;
  stored.state = HostNumbers::measured;
  stored.near_seen = 1;
  stored.sizes_seen = HostNumbers::seen_in(false, HostNumbers::pair);
  EXPECT_TRUE(lacks_numbers(stored, Shape(places), 8));
  places[1].l3 = 0;
  EXPECT_EQ(lacks_numbers(stored, Shape(places), 8), os::virtualisation() != "none");
}

// As an MPI's launcher binds them.
TEST_F(Calibration, ProgramsThatMayUseOneCpuEachMeasure) {
  const std::string name = "calibration-" + std::to_string(getpid());
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.push_back(in_process([&] {
      os::pin_this_thread(os::allowed_cpus()[static_cast<std::size_t>(rank)]);
      const std::unique_ptr<ProcessGroup> group = ProcessGroup::attach(name, 2, rank, GroupOptions());
      return state_after(group->communicator(), {large});
    }));
  for (const pid_t rank : ranks) EXPECT_EQ(status_of(rank), HostNumbers::measured);
  EXPECT_TRUE(exists(calibration_file()));
}

TEST_F(Calibration, RanksOfUnknownPlacesDoNotCountAsMeasuringCpuByCpu) {
  if (os::allowed_cpu_count() >= 6) GTEST_SKIP() << "a CPU for each rank";
  const auto seen = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    for (const auto number :
         {&HostNumbers::shared_levels, &HostNumbers::shared_levels_wide, &HostNumbers::shared_reduce})
      if ((numbers.numbers_seen & seen_bit(number)) != 0 && !comm.shape().oversubscribed()) return 95;
    return static_cast<int>(numbers.sizes_seen % 16 | numbers.sizes_seen / 16);
  };
  EXPECT_EQ(in_threads(seen, 6), HostNumbers::unplaced);
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  EXPECT_EQ(in_threads(seen, 6, options), HostNumbers::unplaced + HostNumbers::many);
}

TEST_F(Calibration, WhatTheTimeDoesNotReachStays) {
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  for (const int ranks : {2, 4, 6})
    EXPECT_EQ(
        in_threads(
            [](Communicator& comm) {
              HostNumbers numbers;
              for (const auto number : {&HostNumbers::shared_pass, &HostNumbers::shared_send,
                                        &HostNumbers::single, &HostNumbers::direct, &HostNumbers::rotate}) {
                numbers.*number = 4099;
                numbers.numbers_seen |= seen_bit(number);
              }
              const std::int64_t seen = numbers.numbers_seen;
              // As one kind of group proved them, before another kind measures.
              const Calibrating what{false, sharing_of(comm.shape()), true, 0};
              if (!measure_numbers(comm, &numbers, what)) return 1;
              if (numbers.sizes_seen == 0) return 2;
              for (const auto number : {&HostNumbers::shared_pass, &HostNumbers::shared_send,
                                        &HostNumbers::single, &HostNumbers::direct, &HostNumbers::rotate})
                if (numbers.*number != 4099) return 3;
              return numbers.numbers_seen == seen ? 0 : 4;
            },
            ranks, options),
        0)
        << ranks;
}

// In the farthest of three places.
TEST_F(Calibration, HasRoomForTheLargestAlgorithm) {
  const Family& known = family(Operation::allreduce);
  for (const int cpus : {2, 8}) {
    std::vector<int> places;
    for (int r = 0; r + 2 * cpus < 31; ++r) places.push_back(r % cpus);
    const Shape shape = shape_on(places);
    const AlgorithmSpec spec =
        known.effective(known.parse("hierarchical:group=cpu:piece=131072:pieces=4"), shape);
    EXPECT_LE(known.footprint(spec, shape) + (std::size_t{5} << 20), calibrating_memory) << cpus;
    EXPECT_GT(known.footprint(spec, shape), std::size_t{15} << 20) << cpus;
  }
}

TEST_F(Calibration, AForkedProcessDoesNotKeepTheLock) {
  EXPECT_EQ(in_threads([](Communicator& comm) {
              static std::atomic<pid_t> forked(0);
              // Rank 0 holds the lock while both measure.
              if (comm.rank() == 1)
                comm.set_progress([] {
                  if (forked != 0 || !exists(calibration_file() + ".lock")) return;
                  const pid_t child = fork();
                  while (child == 0) pause();
                  forked = child;
                });
              after_calls(comm, {large});
              comm.set_progress(nullptr);
              std::uint64_t found = 0;
              if (comm.rank() == 0) {
                const int taken = status_of(in_process([] { return lock_calibration() >= 0 ? 0 : 2; }));
                found = forked <= 0 ? 1 : static_cast<std::uint64_t>(taken);
              }
              comm.broadcast(&found, sizeof found, 0);  // until then the thread lives that made the process
              if (comm.rank() == 1 && forked > 0) {
                kill(forked, SIGKILL);
                waitpid(forked, nullptr, 0);
              }
              return static_cast<int>(found);
            }),
            0);
}

// Threads of a process have its lock together, and the first that closes the file would give it up.
TEST_F(Calibration, OfTwoGroupsOfAProcessOneMeasuresAtATime) {
  EXPECT_EQ(status_of(in_process([] {
              std::atomic<int> measured(0);
              const auto group = [&] {
                ThreadGroup(2).run([&](Communicator& comm) {
                  const int state = state_after(comm, {large});
                  if (comm.rank() == 0 && state == HostNumbers::measured) ++measured;
                });
              };
              std::thread beside(group);
              group();
              beside.join();
              if (measured == 0) return 1;
              return status_of(in_process([] { return lock_calibration() >= 0 ? 0 : 2; }));
            })),
            0);
}

TEST_F(Calibration, AForkOfAKilledProcessDoesNotKeepTheLock) {
  const os::SharedMemory page = os::SharedMemory::create("page", 4096);
  static std::atomic<pid_t>* forked;
  forked = new (page.data()) std::atomic<pid_t>(0);
  EXPECT_EQ(status_of(in_process([] {
              ThreadGroup(2).run([](Communicator& comm) {
                // Rank 0 has the lock soon after the file is there, and holds it while both measure.
                if (comm.rank() == 1)
                  comm.set_progress([] {
                    static int turns = 0;
                    if (!exists(calibration_file() + ".lock") || ++turns < 5) return;
                    if (fork() == 0) {
                      prctl(PR_SET_PDEATHSIG, 0);  // which end_with_parent.cpp sets
                      *forked = getpid();
                      while (true) pause();
                    }
                    while (*forked == 0) {
                    }
                    kill(getpid(), SIGKILL);
                  });
                after_calls(comm, {large});
              });
              return 0;
            })),
            -SIGKILL);
  ASSERT_GT(*forked, 0);
  ASSERT_FALSE(exists(calibration_file())) << "it had measured before";
  EXPECT_EQ(in_threads([](Communicator& comm) { return state_after(comm, {large}); }), HostNumbers::measured);
  EXPECT_EQ(kill(*forked, SIGKILL), 0);
}

TEST_F(Calibration, WhatAKilledProcessLeftDoesNotKeepOthersFromWriting) {
  EXPECT_EQ(status_of(in_process([&] {
              write_file("");
              std::ofstream(calibration_file() + "." + std::to_string(getpid())) << "half a ";
              return store_numbers(HostNumbers(), "for a test") ? 0 : 1;
            })),
            0);
  EXPECT_TRUE(TuningTable::read(calibration_file()).has_numbers());
}

TEST_F(Calibration, ADigestIsOfWhatDecides) {
  HostNumbers numbers;
  EXPECT_EQ(numbers_digest(numbers), "");
  numbers.rotate = 4099;
  const std::string digest = numbers_digest(numbers);
  EXPECT_EQ(digest.size(), 16u);
  numbers.near_seen = numbers.far_seen = numbers.sizes_seen = numbers.numbers_seen = numbers.disturbed = 1;
  EXPECT_EQ(numbers_digest(numbers), digest);
  numbers.wide = 77777;
  EXPECT_NE(numbers_digest(numbers), digest);
}

// Slices want four cells, which the shortest ring has not.
TEST_F(Calibration, RanksThatShareCpusMeasureWithTheRingThatAPairFound) {
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  write_file(file_with("number ring 262144\nnumber near-seen 1\nnumber far-seen 1\nnumber sizes-seen 17\n"));
  for (const int ranks : {4, 6})
    EXPECT_EQ(in_threads(
                  [](Communicator& comm) {
                    const HostNumbers numbers = after_calls(comm, {large});
                    return alike(comm) && numbers.ring == 262144 && numbers.sizes_seen > 17 ? 0 : 1;
                  },
                  ranks, options),
              0)
        << ranks;
}

/// Processes that compute on the two CPUs of the ranks, while the object lives.
class Computing {
 public:
  Computing() {
    int begun[2];
    if (pipe(begun) != 0) throw Error("no pipe");
    for (int i = 0; i < count; ++i)
      children_.push_back(in_process([&begun, i]() -> int {
        os::pin_this_thread(os::allowed_cpus()[static_cast<std::size_t>(i % 2)]);
        if (write(begun[1], "x", 1) != 1) return 1;
        for (volatile unsigned long turns = 0;; turns = turns + 1) {
        }
      }));
    close(begun[1]);
    char byte;
    for (int i = 0; i < count; ++i)
      if (read(begun[0], &byte, 1) != 1) throw Error("a child did not begin");
    close(begun[0]);
  }
  ~Computing() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

 private:
  static constexpr int count = 8;
  std::vector<pid_t> children_;
};

TEST_F(Calibration, ADisturbedOneLeavesTheDefaultsAndIsTriedAgain) {
  disturbed_percent() = usual_percent_;
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  const auto defaults = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    for (const HostNumberField& field : host_number_fields)
      if (field.value != &HostNumbers::disturbed && numbers.*field.value != HostNumbers().*field.value)
        return 1;
    if (!alike(comm) || numbers.state != HostNumbers::built_in) return 2;
    return 10 + static_cast<int>(numbers.disturbed);
  };
  {
    const Computing beside;
    EXPECT_EQ(in_threads(defaults, 2, options), 11);
    EXPECT_EQ(TuningTable::read(calibration_file()).machine(), host_kind());
    pass_a_minute();
    EXPECT_EQ(in_threads(defaults, 2, options), 12) << "a later group tries again";
    pass_a_minute();
    EXPECT_EQ(in_threads(defaults, 4, options), 13) << "ranks that share CPUs do not even begin";
  }
  EXPECT_NE(text_of(calibration_file()).find("\nnumber disturbed 3\n"), std::string::npos);
  pass_a_minute();
  EXPECT_EQ(in_threads([](Communicator& comm) { return state_after(comm, {8}); }), HostNumbers::wanted);
  disturbed_percent() = 100;
  EXPECT_EQ(in_threads([](Communicator& comm) { return state_after(comm, {large}); }, 2, options),
            HostNumbers::measured);
  EXPECT_NE(text_of(calibration_file()).find("\nnumber disturbed 0\n"), std::string::npos);
}

// The file tells all processes how often, and when it was.
TEST_F(Calibration, ADisturbedOneIsNotTriedAgainAtOnce) {
  const auto state = [](Communicator& comm) { return state_after(comm, {large}); };
  write_file(file_with("number disturbed 6\n"));
  EXPECT_EQ(in_threads(state), HostNumbers::built_in) << "not within a minute";
  fork_and_run(2, GroupOptions(), [&](Communicator& comm) {
    if (state(comm) != HostNumbers::built_in) throw Error("not within a minute");
  });
  EXPECT_EQ(text_of(calibration_file()), file_with("number disturbed 6\n"));
  pass_a_minute();
  EXPECT_EQ(in_threads(state), HostNumbers::measured);
}

TEST_F(Calibration, ADisturbedOneLeavesWhatWasMeasuredBefore) {
  disturbed_percent() = usual_percent_;
  GroupOptions options;
  options.placement = std::to_string(os::allowed_cpus()[0]) + "," + std::to_string(os::allowed_cpus()[1]);
  write_file(file_with("number rotate 4099\nnumber near-seen 1\nnumber far-seen 1\nnumber sizes-seen 17\n"));
  const auto same = [](Communicator& comm) {
    const HostNumbers numbers = after_calls(comm, {large});
    return alike(comm) && numbers.rotate == 4099 && numbers.sizes_seen == 17
               ? static_cast<int>(numbers.disturbed)
               : 96;
  };
  const Computing beside;
  EXPECT_EQ(in_threads(same, 4, options), 1);
  EXPECT_EQ(status_of(in_process([] {
              const HostNumbers numbers = calibrate_host();
              std::fprintf(stderr, "rotate %d, sizes-seen %d, disturbed %d\n",
                           static_cast<int>(numbers.rotate), static_cast<int>(numbers.sizes_seen),
                           static_cast<int>(numbers.disturbed));
              return numbers.rotate == 4099 && numbers.sizes_seen == 17 && numbers.disturbed > 1 ? 0 : 1;
            })),
            0);
}

TEST_F(Calibration, ASizeMovesWhereBothStatesOfTheCpusAgree) {
  // Near CPUs moved `rotate`. What far ones say is measured here, or the other way round, so it is the
  // default or beyond it.
  const std::int64_t usual = HostNumbers().rotate;
  for (const std::int64_t known : {std::int64_t{5} << 20, std::int64_t{1}}) {
    for (const char* const state :
         {"number near-seen 1\nnumber sizes-seen 1\n", "number far-seen 1\nnumber sizes-seen 16\n"}) {
      write_file(file_with("number rotate " + std::to_string(known) + "\nnumber numbers-seen 1\n" + state));
      EXPECT_EQ(in_threads([&](Communicator& comm) {
                  const HostNumbers numbers = after_calls(comm, {large});
                  if (numbers.near_seen + numbers.far_seen == 1) return numbers.rotate == known ? 0 : 1;
                  const bool between = known < usual ? known <= numbers.rotate && numbers.rotate <= usual
                                                     : usual <= numbers.rotate && numbers.rotate <= known;
                  return between && (numbers.sizes_seen == 17 || os::virtualisation() == "none") ? 0 : 2;
                }),
                0)
          << known << state;
    }
  }
}

TEST_F(Calibration, AWayToCopyThatTheCpuLacksIsTheCLibrarys) {
  for (std::int64_t way = 0; way < arch::copy_ways; ++way) {
    const auto asked = static_cast<arch::CopyWay>(way);
    EXPECT_EQ(HandOver::way_of(way), arch::has_copy_way(asked) ? asked : arch::CopyWay::ordinary);
    if (!arch::has_copy_way(asked)) continue;
    for (const std::size_t bytes : {0u, 1u, 63u, 255u, 256u, 300u, 4096u, 5000u}) {
      std::vector<unsigned char> from(bytes + 64), to(bytes + 64, 7);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + 5);
      arch::copy_by(asked, to.data() + 13, from.data() + 3, bytes);
      EXPECT_TRUE(std::equal(from.begin() + 3, from.begin() + 3 + static_cast<std::ptrdiff_t>(bytes),
                             to.begin() + 13))
          << way << " " << bytes;
      EXPECT_EQ(to[12], 7);
      EXPECT_EQ(to[13 + bytes], 7);
    }
  }
}

// Where a string move is slow, all ways that would take it copy otherwise.
TEST_F(Calibration, CopiesOfAnyPlacesArriveWhole) {
  constexpr std::size_t most = 5000;
  alignas(64) static unsigned char from[most + 128], to[3 * 4096 + most];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<unsigned char>(i * 31 + i / 256);
  for (const auto way : {arch::CopyWay::ordinary, arch::CopyWay::string})
    for (const std::size_t bytes : {std::size_t{2047}, std::size_t{2048}, std::size_t{2049}, most})
      for (std::size_t after = 0; after < 70; ++after) {
        // `after` bytes after the source within their pages.
        const std::size_t distance =
            reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(to) + after;
        unsigned char* const at = to + 1 + (distance - 1) % 4096;
        ASSERT_EQ(arch::slow_by_string(at, from),
                  arch::string_copy_bytes != SIZE_MAX && after % 4096 - 1 < 63);
        at[-1] = at[bytes] = 7;
        arch::copy_by(way, at, from, bytes);
        EXPECT_TRUE(std::equal(from, from + bytes, at)) << bytes << " " << after;
        EXPECT_EQ(at[-1], 7);
        EXPECT_EQ(at[bytes], 7);
      }
}

TEST_F(Calibration, CanBeMadeAnew) {
  write_file(file_with("number rotate 4099\nnumber streamed 5555\n"));
  EXPECT_EQ(status_of(in_process([] {
              const HostNumbers numbers = calibrate_host();
              return numbers.state == HostNumbers::measured && numbers.streamed == 5555 ? 0 : 1;
            })),
            0)
      << "what is not measured stays";
  const std::string text = text_of(calibration_file());
  EXPECT_EQ(text.find("phicoll tuning 1\n# "), 0u);
  EXPECT_NE(text.find("\nnumber streamed 5555\n"), std::string::npos);
}

}  // namespace
}  // namespace phicoll
