// phicoll-bench from the outside: what it writes, refuses, survives. Skipped where the program was not built
// beside the tests.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "phicoll/measure/records.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

using namespace phicoll;
using namespace phicoll::measure;

namespace {

std::string bench() {
  if (const char* named = getenv("PHICOLL_BENCH")) return named;
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return "";
  const std::string self(path);
  return self.substr(0, self.rfind("/tests/cpp/")) + "/src/cpp/bench/phicoll-bench";
}

class BenchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (access(bench().c_str(), X_OK) != 0) GTEST_SKIP() << "phicoll-bench is not built";
    char name[] = "/tmp/phicoll-test-XXXXXX";
    folder_ = mkdtemp(name);
    file_ = folder_ + "/r.jsonl";
    // A program of another instruction set runs under an emulator, which cannot start itself again.
    if (run({"--version"}) != 0) GTEST_SKIP() << "phicoll-bench cannot be started here";
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0);
  }

  /// Starts it with its words in folder_/err and its data in folder_/out.
  pid_t start(std::vector<std::string> words) {
    words.insert(words.begin(), bench());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(&word[0]);
    arguments.push_back(nullptr);
    const std::string out = folder_ + "/out";
    const std::string err = folder_ + "/err";
    const pid_t child = fork();
    if (child == 0) {
      const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      const int to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(to_out, 1);
      dup2(to_err, 2);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    return child;
  }
  /// Its exit status, -1 when it had to be killed after two minutes.
  int finish(pid_t child) {
    const std::int64_t start = os::now_ns();
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (os::now_ns() - start > 120ll * 1000 * 1000 * 1000) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return -1;
      }
      usleep(2000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int run(const std::vector<std::string>& words) { return finish(start(words)); }
  std::string text(const std::string& name) const {
    std::ifstream stream(folder_ + "/" + name);
    std::ostringstream all;
    all << stream.rdbuf();
    return all.str();
  }
  std::vector<JsonValue> records() const { return read_records(file_, "file").records; }
  /// Waits until the file holds `kind`, for at most a minute.
  bool wait_for(const char* kind) const {
    const std::string mark = std::string("\"kind\":\"") + kind + "\"";
    for (int i = 0; i < 6000; ++i) {
      std::ifstream stream(file_);
      std::ostringstream all;
      all << stream.rdbuf();
      if (all.str().find(mark) != std::string::npos) return true;
      usleep(10 * 1000);
    }
    return false;
  }
  /// Words for a run of `ranks` ranks; oversubscribed where this machine has fewer CPUs. A loaded machine may
  /// take its time.
  std::vector<std::string> sweep(const std::string& algorithms, const std::string& ranks,
                                 const char* launches, const char* rounds,
                                 const char* budget = "none") const {
    return {"run",
            "barrier",
            "--algorithm",
            algorithms,
            "--ranks",
            ranks,
            "--mode",
            "threads,processes",
            "--launches",
            launches,
            "--rounds",
            rounds,
            "--seed",
            "11",
            "--oversubscribe",
            "--lock-wait",
            "110",
            "--budget",
            budget,
            "-o",
            file_};
  }

  std::string folder_;
  std::string file_;
};

int integer(const JsonValue& value) {
  return static_cast<int>(value.number);
}

}  // namespace

TEST_F(BenchTest, WritesEveryKindOfRecordOncePerWhat) {
  ASSERT_EQ(run(sweep("auto,dissemination:ways=2,pthread-barrier,std-barrier", "2,3", "2", "2")), 0)
      << text("err");
  std::map<std::string, int> kinds;
  std::map<int, JsonValue> points;
  std::set<std::tuple<int, int, int, std::string>> samples;
  std::set<std::tuple<std::string, int, int, int>> rounds;
  const std::vector<JsonValue> all = records();
  for (const JsonValue& record : all) {
    const std::string& kind = record["kind"].string;
    ++kinds[kind];
    EXPECT_EQ(record["run"].string, all[0]["run"].string);
    if (kind == "point") {
      points[integer(record["point"])] = record;
      EXPECT_TRUE(record["verified"].boolean) << record.text();
      EXPECT_GT(record["verification"]["calls"].number, 0);
      EXPECT_EQ(record["cpus"].list.size(), static_cast<std::size_t>(integer(record["ranks"])));
      EXPECT_EQ(record["observed_cpus"].text(), record["cpus"].text());
    } else if (kind == "round") {
      rounds.insert(std::make_tuple(record["mode"].string, integer(record["ranks"]),
                                    integer(record["launch"]), integer(record["round"])));
      EXPECT_GT(record["local_ns"].number, 0);
      EXPECT_TRUE(record["label"].string == "remote" || record["label"].string == "same-core");
    } else if (kind == "sample") {
      ASSERT_EQ(points.count(integer(record["point"])), 1u) << "a point stands before its first sample";
      const JsonValue& point = points[integer(record["point"])];
      const auto ranks = static_cast<std::size_t>(integer(point["ranks"]));
      const auto calls = static_cast<std::size_t>(integer(record["calls"]));
      const bool window = record["definition"].string == "window";
      EXPECT_EQ(record["ns"].list.size(), window ? calls : ranks);
      if (window) {
        EXPECT_EQ(record["entry_ns"].list.size(), calls);
        EXPECT_EQ(record["exit_ns"].list.at(0).list.size(), ranks);
      }
      EXPECT_TRUE(samples
                      .insert(std::make_tuple(integer(record["point"]), integer(record["launch"]),
                                              integer(record["round"]), record["definition"].string))
                      .second);
    }
  }
  // auto, dissemination and pthread-barrier in two modes, std-barrier in one; two numbers of ranks.
  EXPECT_EQ(kinds["context"], 1);
  EXPECT_EQ(kinds["point"], 14);
  EXPECT_EQ(kinds["round"], 2 * 2 * 2 * 2);
  EXPECT_EQ(kinds["sample"], 14 * 2 * 2 * 2);
  EXPECT_EQ(kinds["end"], 1);
  EXPECT_EQ(all.back()["reason"].string, "complete");
  EXPECT_EQ(rounds.size(), 16u);
  EXPECT_NE(text("err").find("skipped: std-barrier"), std::string::npos);
  EXPECT_EQ(text("out"), "");
}

TEST_F(BenchTest, ResumesAfterAKill) {
  std::vector<std::string> words = sweep("auto,dissemination", "2", "3", "12");
  const pid_t child = start(words);
  ASSERT_TRUE(wait_for("sample"));
  kill(child, SIGKILL);
  const int ended = finish(child);
  EXPECT_TRUE(ended == -SIGKILL || ended == 0) << ended;  // 0: it was done before the kill
  words.push_back("--resume");
  ASSERT_EQ(run(words), 0) << text("err");
  std::map<std::pair<int, int>, int> samples;  // by launch and round
  const std::vector<JsonValue> all = records();
  for (const JsonValue& record : all) {
    EXPECT_EQ(record["run"].string, all[0]["run"].string);
    if (record["kind"].string == "sample") ++samples[{integer(record["launch"]), integer(record["round"])}];
  }
  int whole = 0;  // two subjects, two modes, two definitions
  for (const auto& round : samples) whole += round.second == 8 ? 1 : 0;
  EXPECT_EQ(whole, 36);
  EXPECT_EQ(all.back()["reason"].string, "complete");
}

TEST_F(BenchTest, ResumeRefusesOtherSettingsAndNamesThem) {
  ASSERT_EQ(run(sweep("auto", "2", "1", "1")), 0) << text("err");
  const auto size = text("r.jsonl").size();
  std::vector<std::string> words = sweep("auto", "2", "1", "2");
  words.push_back("--resume");
  EXPECT_EQ(run(words), 2);
  EXPECT_NE(text("err").find("rounds: got 2; allowed: 1"), std::string::npos) << text("err");
  EXPECT_EQ(text("r.jsonl").size(), size);
}

TEST_F(BenchTest, AnInterruptEndsInOrder) {
  const pid_t child = start(sweep("auto", "2", "1", "100000"));
  ASSERT_TRUE(wait_for("sample"));
  kill(child, SIGINT);
  EXPECT_EQ(finish(child), 130);
  EXPECT_EQ(records().back()["reason"].string, "interrupted");
}

TEST_F(BenchTest, ADeadWorkerEndsTheRunAndIsNamed) {
  const pid_t child = start(sweep("auto", "2", "1", "100000"));
  ASSERT_TRUE(wait_for("sample"));
  std::ifstream children("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
  std::vector<pid_t> workers;
  for (pid_t pid = 0; children >> pid;) workers.push_back(pid);
  if (workers.empty()) {
    kill(child, SIGKILL);
    finish(child);
    GTEST_SKIP() << "this kernel does not list children";
  }
  kill(workers.back(), SIGKILL);
  EXPECT_EQ(finish(child), 3);
  EXPECT_EQ(records().back()["reason"].string, "failed");
  EXPECT_NE(records().back()["error"].string.find("ended by signal 9"), std::string::npos);
}

TEST_F(BenchTest, NoWorkerOutlivesItsCoordinator) {
  const pid_t child = start(sweep("auto", "2", "1", "100000"));
  ASSERT_TRUE(wait_for("sample"));
  std::ifstream children("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
  std::vector<pid_t> workers;
  for (pid_t pid = 0; children >> pid;) workers.push_back(pid);
  kill(child, SIGKILL);
  finish(child);
  const auto alive = [](pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(status, line);
    return !line.empty() && line.find(") Z ") == std::string::npos;
  };
  for (const pid_t pid : workers) {
    for (int i = 0; i < 1000 && alive(pid); ++i) usleep(10 * 1000);
    EXPECT_FALSE(alive(pid)) << pid;
  }
}

TEST_F(BenchTest, ABudgetEndsTheRun) {
  std::set<int> ranks;
  for (const char* const budget :
       {"1.5", "12", "96"}) {  // a longer one where a loaded machine did not get to all
    std::remove(file_.c_str());
    ASSERT_EQ(run(sweep("auto", "2,3", "3", "100000", budget)), 0) << text("err");
    for (const JsonValue& record : records())
      if (record["kind"].string == "round") ranks.insert(integer(record["ranks"]));
    EXPECT_EQ(records().back()["reason"].string, "budget");
    if (ranks.size() == 2) break;
  }
  EXPECT_EQ(ranks.size(), 2u) << "each number of ranks has its share";
}

TEST_F(BenchTest, BadInputIsOneLineAndStartsNothing) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"run", "barrier", "--algorithm", "nonsense"}, "algorithm: got 'nonsense'; allowed: "},
      {{"run", "barrier", "--algorithm", "dissemination:ways=0"}, "dissemination:ways: got '0'; allowed: "},
      {{"run", "barrier", "--ranks", "0"}, "ranks: got '0'; allowed: "},
      {{"run", "barrier", "--ranks", "1024"}, "ranks: got 1024; allowed: "},
      {{"run", "barrier", "--ranks", "1", "--placement", "0,0"}, "placement: got '0,0'"},
      {{"run", "barrier", "--ranks", "1", "--placement", "4000"}, "placement: got '4000'"},
      {{"run", "barrier", "--ranks", "1", "-o", "/no/such/folder/r.jsonl"},
       "output: got '/no/such/folder/r.jsonl'"},
      {{"run", "barrier", "--ranks", "1", "--mode", "fibers"},
       "mode: got 'fibers'; allowed: threads, processes"},
      {{"run", "barrier", "--ranks", "1", "--rounds", "many"}, "rounds: got 'many'; allowed: "},
      {{"run", "barrier", "--ranks", "1", "--start", "evicted", "--definition", "loop"},
       "start: got 'evicted'"},
      {{"run", "barrier", "--ranks", "1", "--start", "warm,evicted"}, "start: got 'warm,evicted'"},
      {{"run", "barrier", "--ranks", "1", "--budget", "0"},
       "budget: got '0'; allowed: a number above 0, or none"},
      {{"run", "barrier", "--machine", "xeon-phi-5110p", "--launches", "2"},
       "launches: got '2'; allowed: only without"},
      {{"run", "barrier", "--algorithm", ""}, "algorithm: got ''; allowed: all: "},
      {{"run", "barrier", "-o", "a", "--output", "b"}, "output: got two values; allowed: one"},
      {{"run", "barrier", "--rnds", "1"}, "option: got '--rnds'; allowed: nearest: "},
      {{"run", "sendrecv"}, "operation: got 'sendrecv'; allowed: "},
      {{"run", "barrier", "--sizes", "8"}, "sizes: got '8'; allowed: only where data moves"},
      {{"run", "broadcast", "--sizes", "8Q"}, "sizes: got '8Q'; allowed: bytes"},
      {{"run", "broadcast", "--op", "sum"}, "op: got 'sum'; allowed: only with reductions"},
      {{"compare", "/no/such/file"}, "file: got '/no/such/file'"},
      {{"walk"}, "command: got 'walk'; allowed: "},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(run(one.first), 2) << one.second;
    const std::string words = text("err");
    EXPECT_EQ(words.find(std::string("phicoll-bench: ") + one.second), 0u) << words;
    EXPECT_EQ(words.find('\n'), words.size() - 1) << words;
    EXPECT_EQ(text("out"), "");
  }
}

TEST_F(BenchTest, AFileOfANewerSchemaIsNotAppendedTo) {
  const std::string newer = "{\"schema\":2,\"kind\":\"context\",\"run\":\"a\",\"phicoll\":\"results\"}\n";
  std::ofstream(file_) << newer;
  const std::vector<std::string> words = sweep("auto", "2", "1", "1");
  EXPECT_EQ(run(words), 2);
  EXPECT_NE(text("err").find("output: got '" + file_ + "' of schema 2; allowed: schema 1 or older"),
            std::string::npos)
      << text("err");
  std::vector<std::string> resuming = words;
  resuming.push_back("--resume");
  EXPECT_EQ(run(resuming), 2);
  EXPECT_NE(text("err").find("of schema 2"), std::string::npos) << text("err");
  EXPECT_EQ(text("r.jsonl"), newer);
}

TEST_F(BenchTest, EachCommandHasAPageOfItsOwn) {
  ASSERT_EQ(run({"--help"}), 0);
  const std::string overview = text("out");
  for (const char* command : {"run", "compare", "list", "count", "doctor"}) {
    EXPECT_NE(overview.find(std::string("phicoll-bench ") + command), std::string::npos) << command;
    ASSERT_EQ(run({command, "--help"}), 0);
    EXPECT_EQ(text("err"), "");
    EXPECT_EQ(text("out").find(std::string("phicoll-bench ") + command), 0u) << text("out");
    EXPECT_NE(text("out").find("Exit status:"), std::string::npos) << text("out");
  }
  ASSERT_EQ(run({"run", "--help"}), 0);
  for (const char* option : {"--progress-ack", "-o, --output FILE", "  1  ", "130  "})
    EXPECT_NE(text("out").find(option), std::string::npos) << option;
  ASSERT_EQ(run({"count", "--help"}), 0);
  EXPECT_NE(text("out").find("--shape"), std::string::npos);
  EXPECT_EQ(text("out").find("--progress-ack"), std::string::npos);
}

TEST_F(BenchTest, WhatTheMachineRefusesExitsWith1) {
  const pid_t child = start(sweep("auto", "2", "1", "100000"));
  ASSERT_TRUE(wait_for("sample"));
  EXPECT_EQ(run({"run", "barrier", "--ranks", "2", "--oversubscribe", "--lock-wait", "0"}), 1);
  EXPECT_NE(text("err").find("in use by another measurement"), std::string::npos) << text("err");
  kill(child, SIGINT);
  EXPECT_EQ(finish(child), 130);
}

TEST_F(BenchTest, ListsAndComparesForPrograms) {
  ASSERT_EQ(run({"list", "barrier", "--json"}), 0);
  JsonValue list;
  ASSERT_TRUE(JsonValue::parse(text("out"), &list));
  std::set<std::string> origins;
  for (const JsonValue& item : list.list) {
    origins.insert(item["origin"].string);
    EXPECT_FALSE(item["name"].string.empty());
    EXPECT_FALSE(item["source"].string.empty());
    EXPECT_EQ(item["parameters"].type, JsonValue::Type::list);
  }
  EXPECT_EQ(origins, (std::set<std::string>{"paper", "phicoll", "reference"}));
  ASSERT_EQ(run(sweep("auto,pthread-barrier", "2", "1", "20")), 0);
  ASSERT_EQ(run({"compare", file_}), 0);
  EXPECT_NE(text("out").find("1 (best)"), std::string::npos);
}
