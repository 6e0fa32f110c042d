// The explanation as one JSON object: what Python's frames are made of.

#include "phicoll/sim/explaining/explanation.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace sim {

namespace {

const char* name_of(Source source) {
  return source == Source::cache ? "cache" : source == Source::memory ? "memory" : "none";
}

std::string counters_json(const Explanation& x) {
  const Counters& c = x.counted;
  JsonObject object;
  object.add("calls", x.options.calls)
      .add("elapsed_cycles", std::int64_t{x.run.counted_to - x.run.counted_from})
      .add("stores", c.stores)
      .add("atomics", c.atomics)
      .add("l1_hits", c.l1_hits)
      .add("l2_hits", c.l2_hits);
  for (std::size_t k = 0; k < request_kinds; ++k) {
    std::string name = to_string(static_cast<Request>(k));
    for (char& letter : name)
      if (letter == ' ' || letter == '-') letter = '_';
    object.add("requests_" + name, c.requests[k]);
  }
  return object.add("from_caches", c.from_caches)
      .add("from_memory", c.from_memory)
      .add("upgrades", c.upgrades)
      .add("invalidations", c.invalidations)
      .add("evictions", c.evictions)
      .add("write_backs", c.write_backs)
      .add("merged", c.merged)
      .add("stolen", c.stolen)
      .add("looks", c.looks)
      .add("elided_looks", c.elided_looks)
      .add("request_ring_messages", c.request_ring.messages)
      .add("request_ring_hops", c.request_ring.hops)
      .add("data_ring_messages", c.data_ring.messages)
      .add("data_ring_hops", c.data_ring.hops)
      .add("acknowledgement_ring_messages", c.acknowledge_ring.messages)
      .add("acknowledgement_ring_hops", c.acknowledge_ring.hops)
      .text();
}

std::string path_json(const Explanation& x) {
  const CriticalPath& path = x.path;
  std::vector<std::string> links;
  for (const PathLink& link : path.links) {
    std::vector<std::string> parts;
    for (const PathPart& part : link.parts)
      parts.push_back(json_list({json_quote(to_string(part.cause)), std::to_string(part.from - path.from),
                                 std::to_string(part.to - path.from)}));
    JsonObject object;
    object.add("kind", to_string(link.kind)).add("rank", link.rank).add("core", link.core);
    object.add_if(link.kind != LinkKind::local, "line", std::int64_t{link.line});
    object.add_if(link.directory >= 0, "directory", link.directory);
    links.push_back(object.add("ahead", link.ahead)
                        .add("from", std::int64_t{link.from - path.from})
                        .add("to", std::int64_t{link.to - path.from})
                        .raw("parts", json_list(parts))
                        .text());
  }
  const auto sums = [](const std::array<Cycles, causes>& of) {
    JsonObject object;
    for (std::size_t c = 0; c < causes; ++c)
      if (of[c] != 0) object.add(to_string(static_cast<Cause>(c)), std::int64_t{of[c]});
    return object.text();
  };
  return JsonObject()
      .add("cycles", std::int64_t{path.to - path.from})
      .add("last_to_arrive", path.last_in)
      .add("last_to_leave", path.last_out)
      .add("hand_overs", path.hand_overs())
      .raw("by_cause", sums(path.by_cause()))
      .raw("in_queues", sums(path.in_queues()))
      .raw("links", json_list(links))
      .text();
}

}  // namespace

std::string explanation_json(const Explanation& x) {
  std::vector<std::string> times, transactions, lines, directories, centres, meanings;
  for (const Cycles time : x.times) times.push_back(std::to_string(time));
  for (const TransactionReport& t : x.transactions)
    transactions.push_back(JsonObject()
                               .add("kind", to_string(t.kind))
                               .add("source", name_of(t.source))
                               .add("count", t.count)
                               .add("cycles", std::int64_t{t.time})
                               .add("queued", std::int64_t{t.queued})
                               .add("invalidated", t.invalidated)
                               .text());
  for (const LineReport& l : x.lines)
    lines.push_back(JsonObject()
                        .add("line", std::int64_t{l.line})
                        .add("byte", static_cast<std::int64_t>(l.byte))
                        .add("directory", l.directory)
                        .add("requests", l.requests)
                        .add("from_caches", l.from_caches)
                        .add("from_memory", l.from_memory)
                        .add("invalidated", l.invalidated)
                        .add("waited", std::int64_t{l.waited})
                        .add("cycles", std::int64_t{l.time})
                        .add("writers", l.writers)
                        .add("readers", l.readers)
                        .add("writer", l.writer)
                        .add("reader", l.reader)
                        .add("atomic", l.atomic)
                        .text());
  for (const DirectoryReport& d : x.directories)
    directories.push_back(JsonObject()
                              .add("directory", d.directory)
                              .add("served", d.served)
                              .add("utilisation", d.utilisation, 6)
                              .add("queued", d.queued)
                              .add("lines", d.lines)
                              .text());
  for (const CentreReport& s : x.centres) {
    JsonObject object;
    object.add("name", s.name).add("servers", s.servers).add("mean", s.mean, 6);
    object.add_if(s.which >= 0, "busiest", s.busiest, 6).add_if(s.which >= 0, "which", s.which);
    centres.push_back(object.add("queued", s.queued).text());
  }
  for (std::size_t c = 0; c < causes; ++c)
    meanings.push_back(json_list(
        {json_quote(to_string(static_cast<Cause>(c))), json_quote(meaning_of(static_cast<Cause>(c)))}));
  return JsonObject()
      .add("phicoll", "explanation")
      .add("operation", x.options.work.name())
      .add("algorithm", x.spec.name)
      .add("spec", x.spec.text())
      .add("effective", x.effective)
      .add("machine", x.machine.name)
      .add("digest", x.machine.digest)
      .add("clock_mhz", x.machine.p.clock_mhz)
      .add("ranks", x.shape.size())
      .add("placement", x.options.placement)
      .add("seed", x.options.seed)
      .add("definition", x.options.window ? "window" : "loop")
      .raw("call_cycles", json_list(times))
      .add("call", x.options.call)
      .raw("cores", json_integers(x.cores))
      .raw("counters", counters_json(x))
      .raw("transactions", json_list(transactions))
      .raw("lines", json_list(lines))
      .raw("directories", json_list(directories))
      .raw("servers", json_list(centres))
      .raw("causes", json_list(meanings))
      .raw("path", path_json(x))
      .text();
}

}  // namespace sim
}  // namespace phicoll
