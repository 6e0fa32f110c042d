// What `explain` prints.

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <numeric>

#include "phicoll/sim/explaining/explanation.hpp"

namespace phicoll {
namespace sim {

namespace {

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void add(std::string* text, const char* format, ...) {
  char line[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *text += line;
}

double share(Cycles part, Cycles whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

const char* brought_from(Source source) {
  return source == Source::cache ? "a cache" : source == Source::memory ? "memory" : "nothing to bring";
}

std::vector<std::size_t> largest_first(const std::array<Cycles, causes>& sums) {
  std::vector<std::size_t> order(causes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  return order;
}

// "request trip 52, snoop 24": the largest causes, and the rest.
std::string parts_text(const std::array<Cycles, causes>& sums, int most) {
  std::string text;
  Cycles rest = 0;
  int shown = 0;
  for (const std::size_t c : largest_first(sums)) {
    if (sums[c] == 0) break;
    if (shown == most) {
      rest += sums[c];
      continue;
    }
    ++shown;
    text += (text.empty() ? "" : ", ") + std::string(to_string(static_cast<Cause>(c))) + " " +
            std::to_string(sums[c]);
  }
  if (rest > 0) text += ", other " + std::to_string(rest);
  return text;
}

void add_parts(std::array<Cycles, causes>* sums, const PathLink& link) {
  for (const PathPart& part : link.parts)
    (*sums)[static_cast<std::size_t>(part.cause)] += part.to - part.from;
}

std::string asker(const PathLink& link) {
  return link.rank >= 0 ? std::to_string(link.rank) : "core " + std::to_string(link.core) + "'s prefetcher";
}

std::string line_place(const PathLink& link) {
  return "line " + std::to_string(link.line);
}

// The parts of the text, from the top.

void add_heading(std::string* text, const Explanation& x) {
  const Machine& m = x.machine;
  const Cycles time = x.times[static_cast<std::size_t>(x.options.call)];
  std::vector<Cycles> sorted = x.times;
  std::sort(sorted.begin(), sorted.end());
  if (x.options.work.moves_data()) add(text, "%s by ", x.options.work.text().c_str());
  add(text, "%s, %d ranks %s on %s (simulated, machine %s, seed %llu)\n", x.effective.c_str(), x.shape.size(),
      x.options.placement.c_str(), m.name.c_str(), m.digest.c_str(),
      static_cast<unsigned long long>(x.options.seed));
  add(text, "%s of %d calls: median %.0f ns, %.0f to %.0f; call %d: %lld cycles, %.0f ns\n\n",
      x.options.window ? "windows" : "a loop", x.options.calls,
      m.ns(static_cast<double>(sorted[(sorted.size() - 1) / 2])), m.ns(static_cast<double>(sorted.front())),
      m.ns(static_cast<double>(sorted.back())), x.options.call, static_cast<long long>(time),
      m.ns(static_cast<double>(time)));
}

void add_transactions(std::string* text, const Explanation& x) {
  add(text, "transactions of the call         count  cycles each  of that queued  copies invalidated\n");
  for (const TransactionReport& t : x.transactions)
    add(text, "  %-13s from %-16s %6lld  %11.0f  %14.0f  %18lld\n", to_string(t.kind), brought_from(t.source),
        static_cast<long long>(t.count), static_cast<double>(t.time) / static_cast<double>(t.count),
        static_cast<double>(t.queued) / static_cast<double>(t.count), static_cast<long long>(t.invalidated));
  const double each = 1.0 / x.options.calls;
  const Counters& c = x.counted;
  add(text,
      "  a call, in the mean: %.0f stores, %.0f atomics, %.0f L1 hits, %.0f upgrades, %.0f "
      "invalidations, "
      "%.0f merged,\n  %.0f looks simulated and %.0f elided, %.0f events of the simulator\n\n",
      static_cast<double>(c.stores) * each, static_cast<double>(c.atomics) * each,
      static_cast<double>(c.l1_hits) * each, static_cast<double>(c.upgrades) * each,
      static_cast<double>(c.invalidations) * each, static_cast<double>(c.merged) * each,
      static_cast<double>(c.looks) * each, static_cast<double>(c.elided_looks) * each,
      static_cast<double>(x.run.counters.events - x.run.counted_before.events) * each);
}

void add_servers(std::string* text, const Explanation& x) {
  add(text, "servers                          number  mean busy  busiest          cycles queued for each\n");
  for (const CentreReport& s : x.centres) {
    add(text, "  %-30s %6d  %7.2f %%", s.name.c_str(), s.servers, 100 * s.mean);
    if (s.which >= 0) add(text, "  %6.2f %% (%d)  %*s", 100 * s.busiest, s.which, s.which > 9 ? 0 : 1, "");
    if (s.queued > 0) add(text, "  %8.1f", s.queued);
    *text += "\n";
  }
}

void add_lines(std::string* text, const Explanation& x) {
  add(text, "\nlines that requests waited for    directory  requests  waited  in all  written by  read by\n");
  int shown = 0;
  for (const LineReport& l : x.lines) {
    if (++shown > 8) break;
    const auto ranks = [](int count, int one) {
      return count == 1 ? "rank " + std::to_string(one) : std::to_string(count) + " ranks";
    };
    add(text, "  line %-5u byte %-8zu %-8s %9d %9lld %7lld %7lld  %-10s  %s\n", l.line, l.byte,
        l.atomic ? "atomic" : "", l.directory, static_cast<long long>(l.requests),
        static_cast<long long>(l.waited), static_cast<long long>(l.time), ranks(l.writers, l.writer).c_str(),
        ranks(l.readers, l.reader).c_str());
  }
  add(text, "  (cycles; %zu lines moved in the call)\n", x.lines.size());

  if (!x.directories.empty()) {
    add(text, "\nbusiest directories      busy  served  cycles queued for each  lines\n");
    for (std::size_t d = 0; d < std::min<std::size_t>(5, x.directories.size()); ++d) {
      const DirectoryReport& r = x.directories[d];
      if (r.served == 0) break;
      add(text, "  directory %-4d      %6.2f %%  %6lld  %22.1f  %5lld\n", r.directory, 100 * r.utilisation,
          static_cast<long long>(r.served), r.queued, static_cast<long long>(r.lines));
    }
  }
}

void add_causes(std::string* text, const Explanation& x) {
  const Machine& m = x.machine;
  const CriticalPath& path = x.path;
  const Cycles whole = path.to - path.from;
  add(text,
      "\ncritical path: %lld cycles (%.0f ns) from rank %d, the last to arrive, to rank %d, the last to "
      "leave: %d hand-over%s\n",
      static_cast<long long>(whole), m.ns(static_cast<double>(whole)), path.last_in, path.last_out,
      path.hand_overs(), path.hand_overs() == 1 ? "" : "s");
  const std::array<Cycles, causes> sums = path.by_cause();
  for (const std::size_t k : largest_first(sums)) {
    if (sums[k] == 0) break;
    add(text, "  %-18s %8lld cycles  %5.1f %%  %s\n", to_string(static_cast<Cause>(k)),
        static_cast<long long>(sums[k]), share(sums[k], whole), meaning_of(static_cast<Cause>(k)));
  }
  const std::array<Cycles, causes> queues = path.in_queues();
  if (std::any_of(queues.begin(), queues.end(), [](Cycles sum) { return sum != 0; }))
    add(text, "  while the line was busy, its holders' time: %s\n", parts_text(queues, 6).c_str());
}

void add_row(std::string* text, const CriticalPath& path, const PathLink& link, const PathLink& last,
             const std::string& what) {
  add(text, "%8lld %7lld", static_cast<long long>(link.from - path.from),
      static_cast<long long>(last.to - link.from));
  if (link.kind == LinkKind::queue)
    *text += "              ";
  else
    add(text, "  %4d  %4d  ", link.rank, link.core);
  *text += what + "\n";
}

// The queue of a line that begins with link `i`. Returns the link after it.
std::size_t add_queue(std::string* text, const CriticalPath& path, std::size_t i) {
  const PathLink& link = path.links[i];
  std::array<Cycles, causes> parts{};
  std::size_t end = i;
  std::string ranks;
  while (end < path.links.size() && path.links[end].kind == LinkKind::queue &&
         path.links[end].line == link.line) {
    add_parts(&parts, path.links[end]);
    const std::size_t place = end - i;
    if (place < 6) ranks += (ranks.empty() ? "" : " ") + asker(path.links[end]);
    if (place == 6) ranks += " ...";
    ++end;
  }
  const PathLink& writer = path.links[i == 0 ? 0 : i - 1];
  std::string what = "queue behind " + std::to_string(end - i) + " request" + (end - i == 1 ? "" : "s") +
                     " of " + line_place(link) + " at directory " + std::to_string(link.directory) +
                     " (of rank " + ranks + ")";
  if (end - i == 1 && i > 0 && writer.transfer == link.transfer)
    what = line_place(link) + " is busy until its writer's acknowledgement is at directory " +
           std::to_string(link.directory);
  add_row(text, path, link, path.links[end - 1], what + ": " + parts_text(parts, 4));
  return end;
}

void add_link(std::string* text, const CriticalPath& path, std::size_t i) {
  const PathLink& link = path.links[i];
  std::array<Cycles, causes> parts{};
  add_parts(&parts, link);
  std::string what;
  switch (link.kind) {
    case LinkKind::local:
      what = "works";
      break;
    case LinkKind::store:
      what = "stores to " + line_place(link);
      break;
    case LinkKind::atomic:
      what = "updates " + line_place(link);
      break;
    default:
      what = "hears " +
             (i > 0 && path.links[i - 1].rank != link.rank && path.links[i - 1].kind != LinkKind::queue
                  ? "rank " + std::to_string(path.links[i - 1].rank) + ", "
                  : std::string()) +
             line_place(link);
  }
  add_row(text, path, link, link, what + ": " + parts_text(parts, 4));
}

void add_links(std::string* text, const CriticalPath& path, int most_links) {
  add(text, "\n      at    took  rank  core  step\n");
  int shown = 0;
  for (std::size_t i = 0; i < path.links.size();) {
    if (shown++ == most_links) {
      add(text, "  ... and %zu more links\n", path.links.size() - i);
      break;
    }
    if (path.links[i].kind == LinkKind::queue)
      i = add_queue(text, path, i);
    else
      add_link(text, path, i++);
  }
}

}  // namespace

std::string explanation_text(const Explanation& x, int most_links) {
  std::string text;
  add_heading(&text, x);
  add_transactions(&text, x);
  add_servers(&text, x);
  add_lines(&text, x);
  add_causes(&text, x);
  add_links(&text, x.path, most_links);
  return text;
}

}  // namespace sim
}  // namespace phicoll
