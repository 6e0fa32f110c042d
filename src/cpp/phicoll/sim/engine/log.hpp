#pragma once

// What a simulation writes down when it is asked to: every transfer with its times, every change of a line's
// state, what each rank did, and which write each wait was waiting for. The timeline and the critical path
// are read from it afterwards.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "phicoll/sim/engine/counters.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

using LineId = std::uint32_t;

/// A core's state of a line.
enum class LineState : std::uint8_t { invalid, shared, exclusive, modified, leaving };
char letter(LineState state);  ///< I S E M L

/// One transaction of the protocol. Times are -1 where the step did not happen. Of several caches that were
/// asked, `asked`, `answered` and `replied` are of the one that decided when the transaction ended.
struct TransferRecord {
  Request kind;
  Source source;
  int core;
  int rank;  ///< the rank that asked first
  LineId line;
  int directory;
  int responder;    ///< the core that sent the data, -1 for none or memory
  int invalidated;  ///< sharers that lost the line
  int ahead;        ///< requests of this line that were in front when it reached the directory
  Cycles issued;    ///< the context missed
  Cycles sent;      ///< its core sent it: later than `issued` if too many others were under way
  Cycles arrived;   ///< at the directory
  Cycles taken_up;  ///< the directory was free; from here on it queued for its line
  Cycles begun;     ///< the line was free
  Cycles resumed;   ///< of a read that was put off until another had been fetched from memory: when that was
  Cycles directed;  ///< the directory sent its message to the cache, or to memory
  Cycles asked;     ///< which was reached
  Cycles answered;  ///< and took it up, or its channel did
  Cycles replied;   ///< and sent the line or its acknowledgement
  Cycles data;      ///< the data reached the core
  Cycles go;        ///< the directory's go-ahead reached the core
  Cycles filled;    ///< the context can go on
  Cycles freed;     ///< the directory took the line's next request
};

enum class OperationKind : std::uint8_t { load, store, atomic, wait, fence, copy, evict, pause };
const char* to_string(OperationKind kind);

/// One operation of a rank.
struct OperationRecord {
  OperationKind kind;
  int rank;
  LineId line;
  Cycles begun;
  Cycles ended;    ///< the rank went on
  Cycles visible;  ///< of a store or atomic: when its value could be read; -1 otherwise
  Cycles missed;   ///< of a wait: when the look that succeeded began; of a store: the buffer was full since
  int transfer;    ///< the transfer that served it last, -1 for none
  int cause;       ///< the operation that wrote what it read, -1 for none
};

struct StateRecord {
  Cycles time;
  LineId line;
  std::int16_t core;
  LineState from, to;
};

enum class MarkKind : std::uint8_t { enter, leave };

/// A rank enters or leaves a call.
struct MarkRecord {
  MarkKind kind;
  int rank;
  int call;
  Cycles time;
};

class Log {
 public:
  static constexpr int none = -1;

  std::vector<TransferRecord> transfers;
  std::vector<OperationRecord> operations;
  std::vector<StateRecord> states;
  std::vector<MarkRecord> marks;

  /// The operation wrote `bytes` bytes at `offset` of the line.
  void wrote(LineId line, unsigned offset, unsigned bytes, int operation) {
    auto found = writers_.find(line);
    if (found == writers_.end()) {
      found = writers_.emplace(line, std::array<int, 64>{}).first;
      found->second.fill(none);
    }
    for (unsigned b = offset; b < offset + bytes; ++b) found->second[b] = operation;
  }
  /// The last operation that wrote one of the bytes, none if there is none.
  int writer(LineId line, unsigned offset, unsigned bytes) const {
    const auto found = writers_.find(line);
    if (found == writers_.end()) return none;
    int last = none;
    for (unsigned b = offset; b < offset + bytes; ++b)
      if (found->second[b] > last) last = found->second[b];
    return last;
  }

 private:
  std::unordered_map<LineId, std::array<int, 64>> writers_;
};

}  // namespace sim
}  // namespace phicoll
