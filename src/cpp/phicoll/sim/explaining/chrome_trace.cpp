#include "phicoll/sim/explaining/chrome_trace.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace sim {

namespace {

enum Process { process_path = 1, process_ranks, process_holders, process_busy, process_directories };

class Trace {
 public:
  Trace(const Explanation& found, bool all)
      : found_(found), log_(*found.run.log), ranks_(static_cast<std::size_t>(found.shape.size())) {
    from_ = all ? 0 : std::numeric_limits<Cycles>::max();
    to_ = all ? found.run.counted_to : 0;
    for (const MarkRecord& mark : log_.marks) {
      if (!all && mark.call != found.path.call) continue;
      from_ = std::min(from_, mark.time);
      to_ = std::max(to_, mark.time);
    }
    all_ = all;
    base_ = from_;
  }

  std::string text() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":" +
            JsonObject()
                .add("barrier", found_.effective)
                .add("machine", found_.machine.name)
                .add("digest", found_.machine.digest)
                .add("ranks", found_.shape.size())
                .add("placement", found_.options.placement)
                .add("seed", found_.options.seed)
                .add("call", found_.path.call)
                .add("label", "simulated")
                .text() +
            ",\n\"traceEvents\":[\n";
    path();
    ranks();
    lines();
    directories();
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  // --- events

  std::int64_t ns(Cycles time) const {
    return std::llround(static_cast<double>(time - base_) * 1000.0 / found_.machine.p.clock_mhz);
  }
  static std::string us(std::int64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text;
  }
  void event(const std::string& fields) {
    if (!first_) text_ += ",\n";
    first_ = false;
    text_ += "{" + fields + "}";
  }
  static std::string at(int process, int track) {
    return "\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(track);
  }
  void name_process(int process, const std::string& name) {
    event("\"ph\":\"M\",\"name\":\"process_name\"," + at(process, 0) +
          ",\"args\":{\"name\":" + json_quote(name) + "}");
    event("\"ph\":\"M\",\"name\":\"process_sort_index\"," + at(process, 0) +
          ",\"args\":{\"sort_index\":" + std::to_string(process) + "}");
  }
  void name_track(int process, int track, const std::string& name) {
    event("\"ph\":\"M\",\"name\":\"thread_name\"," + at(process, track) +
          ",\"args\":{\"name\":" + json_quote(name) + "}");
    event("\"ph\":\"M\",\"name\":\"thread_sort_index\"," + at(process, track) +
          ",\"args\":{\"sort_index\":" + std::to_string(track) + "}");
  }
  /// `arguments`: the fields of a JSON object; may be empty.
  void slice(int process, int track, const std::string& name, Cycles begin, Cycles end,
             const std::string& arguments) {
    begin = std::max(begin, from_);
    end = std::min(end, to_);
    if (end < begin) return;
    event("\"ph\":\"X\",\"name\":" + json_quote(name) + "," + at(process, track) +
          ",\"ts\":" + us(ns(begin)) + ",\"dur\":" + us(ns(end) - ns(begin)) +
          (arguments.empty() ? "" : ",\"args\":{" + arguments + "}"));
  }
  static std::string field(const char* name, std::int64_t value) {
    return std::string("\"") + name + "\":" + std::to_string(value);
  }
  static std::string line_name(LineId line) { return "line " + std::to_string(line); }

  // --- tracks

  void path() {
    if (found_.path.links.empty()) return;
    name_process(process_path, "critical path of call " + std::to_string(found_.path.call));
    name_track(process_path, 1, "path");
    for (const PathLink& link : found_.path.links) {
      std::string name = std::string(to_string(link.kind)) + " rank " + std::to_string(link.rank);
      if (link.kind != LinkKind::local) name += ", " + line_name(link.line);
      slice(process_path, 1, name, link.from, link.to,
            field("cycles", link.to - link.from) + "," + field("core", link.core));
      for (const PathPart& part : link.parts)
        slice(process_path, 1, to_string(part.cause), part.from, part.to,
              field("cycles", part.to - part.from));
    }
  }

  void ranks() {
    name_process(process_ranks, "ranks");
    for (int r = 0; r < found_.shape.size(); ++r)
      name_track(process_ranks, r,
                 "rank " + std::to_string(r) + " (core " +
                     std::to_string(found_.cores[static_cast<std::size_t>(r)]) + ")");
    // Of each rank, when it was inside the calls that are shown.
    std::vector<std::vector<std::pair<Cycles, Cycles>>> inside(ranks_);
    for (const MarkRecord& mark : log_.marks) {
      if (!all_ && mark.call != found_.path.call) continue;
      auto& mine = inside[static_cast<std::size_t>(mark.rank)];
      if (mark.kind == MarkKind::enter) {
        mine.emplace_back(mark.time, -1);
        continue;
      }
      mine.back().second = mark.time;
      slice(process_ranks, mark.rank, mark.call < 0 ? "warm-up" : "call " + std::to_string(mark.call),
            mine.back().first, mark.time, field("cycles", mark.time - mine.back().first));
    }
    std::vector<bool> shown(log_.operations.size());
    std::vector<std::size_t> current(ranks_);
    for (std::size_t o = 0; o < log_.operations.size(); ++o) {
      const OperationRecord& x = log_.operations[o];
      const auto r = static_cast<std::size_t>(x.rank);
      while (current[r] < inside[r].size() && inside[r][current[r]].second < x.begun) ++current[r];
      if (current[r] == inside[r].size() || x.begun < inside[r][current[r]].first || x.ended < 0 ||
          x.ended > inside[r][current[r]].second)
        continue;
      shown[o] = true;
      std::string name = to_string(x.kind);
      std::string arguments = field("cycles", x.ended - x.begun);
      if (x.kind != OperationKind::fence && x.kind != OperationKind::pause) {
        name += " " + line_name(x.line);
        arguments += "," + field("byte", std::int64_t{x.line} * 64);
      }
      if (x.visible >= 0) arguments += "," + field("visible after cycles", x.visible - x.begun);
      if (x.transfer >= 0)
        arguments +=
            "," + field("requests ahead", log_.transfers[static_cast<std::size_t>(x.transfer)].ahead);
      if (x.cause >= 0)
        arguments += "," + field("written by rank", log_.operations[static_cast<std::size_t>(x.cause)].rank);
      slice(process_ranks, x.rank, name, x.begun, x.ended, arguments);
    }
    int flow = 0;
    for (std::size_t o = 0; o < log_.operations.size(); ++o) {
      const OperationRecord& x = log_.operations[o];
      if (!shown[o] || x.cause < 0 || !shown[static_cast<std::size_t>(x.cause)]) continue;
      const OperationRecord& write = log_.operations[static_cast<std::size_t>(x.cause)];
      if (write.rank == x.rank || write.visible <= x.begun) continue;
      // Only writes that were waited for. Both ends lie inside their slices.
      const std::string head = "\"cat\":\"write\",\"name\":" + json_quote(line_name(x.line)) +
                               ",\"id\":" + std::to_string(++flow) + ",";
      event("\"ph\":\"s\"," + head + at(process_ranks, write.rank) + ",\"ts\":" + us(ns(write.begun)));
      const std::int64_t end = std::max(ns(x.begun), ns(x.ended) - 1);
      event("\"ph\":\"f\",\"bp\":\"e\"," + head + at(process_ranks, x.rank) + ",\"ts\":" + us(end));
    }
  }

  struct Holders {
    std::map<int, LineState> cores;
    Cycles since = 0;
    std::string text() const {
      if (cores.empty()) return "";
      const auto first = *cores.begin();
      if (cores.size() > 1) return std::string("S ") + std::to_string(cores.size()) + " cores";
      return std::string(1, letter(first.second)) + " core " + std::to_string(first.first);
    }
  };

  void lines() {
    std::map<LineId, std::vector<const TransferRecord*>> moved;
    for (const TransferRecord& x : log_.transfers)
      if (x.issued < to_ && std::max(x.filled, x.freed) > from_) moved[x.line].push_back(&x);
    name_process(process_holders, "lines: their holders");
    name_process(process_busy, "lines: busy with");
    for (const auto& line : moved) {
      const std::string name = line_name(line.first) + " (byte " +
                               std::to_string(std::size_t{line.first} * 64) + ", directory " +
                               std::to_string(line.second.front()->directory) + ")";
      name_track(process_holders, static_cast<int>(line.first), name);
      name_track(process_busy, static_cast<int>(line.first), name);
    }
    std::map<LineId, Holders> holders;
    const auto show = [&](LineId line, const Holders& held, Cycles until) {
      if (until > held.since && until > from_ && !held.cores.empty())
        slice(process_holders, static_cast<int>(line), held.text(), held.since, until, "");
    };
    for (const StateRecord& state : log_.states) {
      if (state.time > to_) break;
      if (moved.count(state.line) == 0) continue;
      Holders& held = holders[state.line];
      if (state.time > held.since) {
        show(state.line, held, state.time);
        held.since = state.time;
      }
      if (state.to == LineState::invalid)
        held.cores.erase(state.core);
      else
        held.cores[state.core] = state.to;
    }
    for (const auto& held : holders) show(held.first, held.second, to_);
    for (auto& line : moved) {
      std::sort(line.second.begin(), line.second.end(),
                [](const TransferRecord* a, const TransferRecord* b) { return a->begun < b->begun; });
      Cycles free = from_;
      for (const TransferRecord* x : line.second) {
        // Reads that memory serves side by side are drawn one after the other.
        const Cycles begin = std::max(x->begun, free);
        const Cycles end =
            std::max(x->freed, x->filled < x->freed ? x->freed : std::min(x->filled, x->freed));
        if (end <= begin || begin >= to_) continue;
        slice(process_busy, static_cast<int>(line.first),
              std::string(to_string(x->kind)) + " by " + asker(*x), begin, end,
              field("core", x->core) + "," + field("queued cycles", x->begun - x->taken_up) + "," +
                  field("requests ahead", x->ahead) + "," + field("copies invalidated", x->invalidated));
        free = end;
      }
    }
  }

  static std::string asker(const TransferRecord& x) {
    return x.rank >= 0 ? "rank " + std::to_string(x.rank) : "core " + std::to_string(x.core);
  }

  void directories() {
    if (found_.machine.p.protocol != Protocol::directory) return;
    name_process(process_directories, "directories");
    std::map<int, std::vector<const TransferRecord*>> served;
    for (const TransferRecord& x : log_.transfers)
      if (x.taken_up >= from_ && x.taken_up < to_) served[x.directory].push_back(&x);
    for (auto& directory : served) {
      name_track(process_directories, directory.first, "directory " + std::to_string(directory.first));
      std::sort(directory.second.begin(), directory.second.end(),
                [](const TransferRecord* a, const TransferRecord* b) { return a->taken_up < b->taken_up; });
      for (const TransferRecord* x : directory.second)
        slice(process_directories, directory.first,
              std::string(to_string(x->kind)) + " " + line_name(x->line) + " by " + asker(*x), x->taken_up,
              x->taken_up + found_.machine.p.directory_service,
              field("queued cycles", x->taken_up - x->arrived));
    }
  }

  const Explanation& found_;
  const Log& log_;
  std::size_t ranks_;
  bool all_ = false;
  bool first_ = true;
  Cycles from_ = 0, to_ = 0, base_ = 0;
  std::string text_;
};

ArgumentError cannot_write(const std::string& path, int error) {
  return ArgumentError("trace", "'" + path + "'",
                       std::string("a file that can be written (") + std::strerror(error) + ")");
}

}  // namespace

void check_trace_path(const std::string& path) {
  struct stat status;
  const bool existed = ::stat(path.c_str(), &status) == 0;
  std::FILE* const file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) throw cannot_write(path, errno);
  std::fclose(file);
  if (!existed) ::unlink(path.c_str());
}

std::string chrome_trace(const Explanation& found, bool all_calls) {
  return Trace(found, all_calls).text();
}

std::size_t write_chrome_trace(const std::string& path, const Explanation& found, bool all_calls) {
  const std::string text = chrome_trace(found, all_calls);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw cannot_write(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written)
    throw ResourceError("trace: " + path + " could not be written completely (" + std::strerror(errno) + ")");
  return text.size();
}

}  // namespace sim
}  // namespace phicoll
