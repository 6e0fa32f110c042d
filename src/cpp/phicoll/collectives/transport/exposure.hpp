#pragma once

// What ranks tell each other about their own buffers, for copies around shared memory. Each rank has two
// lines: one says where its data of the current call lies and whether peers can reach it, the other how many
// calls the rank has finished.
//
// (1) `publish` stores the handles, then the call's number with release. A rank that acquires the number sees
//     the handles and what the owner wrote before.
// (2) `finish` is a release after all of a rank's copies. A rank that acquires it may reuse what the other
//     read, and read what it wrote.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/direct.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct alignas(arch::line_bytes) ExposureLine {
  Word<std::uint64_t> call;
  ExposedWords buffers[2];
  Word<std::uint64_t> tag;    // of the call, see Call
  Word<std::uint64_t> claim;  // which rank copies which piece next: see rooted_copy.hpp
};

inline std::size_t exposures_footprint(int ranks) {
  return static_cast<std::size_t>(ranks) * (sizeof(Strided<ExposureLine>) + sizeof(Strided<CounterLine>));
}

// (3) A rank publishes the next call only after every reader of its line has finished this one or is done
//     with the line, which the algorithms ensure before they return.
template <class Port>
class Exposures {
 public:
  /// The rank's two buffers; nothing for one that it does not have.
  struct Seen {
    Exposed send;
    Exposed receive;
  };

  Exposures(const Setup& setup, std::size_t offset)
      : lines_(setup.at<Strided<ExposureLine>>(offset)),
        finished_(setup.at<Strided<CounterLine>>(offset + static_cast<std::size_t>(setup.size()) *
                                                              sizeof(Strided<ExposureLine>))),
        rank_(setup.rank) {}

  /// Begins a call. For a buffer that peers cannot reach, "nothing" is published.
  void publish(Port& port, std::uint64_t tag, Data send, std::size_t send_bytes, Data receive,
               std::size_t receive_bytes) {
    ++call_;
    tag_ = tag;
    ExposureLine& own = lines_[rank_].value;
    tell(port, own, 0, send, send_bytes);
    tell(port, own, 1, receive, receive_bytes);
    port.store_relaxed(own.tag, tag);
    port.signal(own.call, call_);
  }
  /// Counts a call in which this rank exposes nothing. With the call's tag it can still await what another
  /// rank exposes.
  void skip(std::uint64_t tag = 0) {
    ++call_;
    tag_ = tag;
  }
  Seen await(Port& port, int rank) {
    PHICOLL_ASSERT(Port, call_ != 0,
                   "rank " + std::to_string(rank_) + " awaits buffers before its first call");
    ExposureLine& line = lines_[rank].value;
    port.wait(line.call, at_least(call_), rank);
    // A call that does not match may have another size, so its buffers are not touched.
    if (port.load_relaxed(line.tag) != tag_) port.wait(line.tag, equal(tag_));
    return Seen{line.buffers[0].load(port), line.buffers[1].load(port)};
  }
  /// Says that this rank touches no peer's memory any more in this call.
  void finish(Port& port) { port.signal(finished_[rank_].value.word, call_); }
  void await_finish(Port& port, int rank) { port.wait(finished_[rank].value.word, at_least(call_), rank); }
  Word<std::uint64_t>& claim(int rank) { return lines_[rank].value.claim; }
  std::uint64_t call() const { return call_; }

 private:
  void tell(Port& port, ExposureLine& own, int which, Data data, std::size_t bytes) {
    own.buffers[which].store(
        port, bytes != 0 && port.exposable(data, bytes) ? port.expose(data) : Exposed{0, 0, 0});
  }

  Strided<ExposureLine>* lines_;
  Strided<CounterLine>* finished_;
  std::uint64_t call_ = 0;
  std::uint64_t tag_ = 0;
  int rank_;
};

}  // namespace phicoll
