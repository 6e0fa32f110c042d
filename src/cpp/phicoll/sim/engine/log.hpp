#pragma once

// The log that a simulation keeps on request: every transfer with its times, every change of a line's state,
// what each rank did, and which write each wait waited for. The timeline and the critical path are made from
// it.

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
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

/// Records by number. The oldest may be dropped and later ones left out; their numbers then stand for no
/// record, and writes to them are lost.
template <class T>
class Records {
 public:
  std::size_t size() const { return dropped_ + count_; }
  T& operator[](std::size_t number) { return has(number) ? kept_[number - dropped_] : (nothing_ = T()); }
  bool closed() const { return closed_; }
  const T& operator[](std::size_t number) const { return has(number) ? kept_[number - dropped_] : nothing_; }
  T* begin() { return kept_.get(); }
  T* end() { return kept_.get() + count_; }
  const T* begin() const { return kept_.get(); }
  const T* end() const { return kept_.get() + count_; }
  bool has(std::size_t number) const { return number - dropped_ < count_; }

  std::size_t bytes() const { return count_ * sizeof(T); }
  void push_back(const T& record) {
    if (closed_) return;
    if (count_ == room_) grow();
    kept_[count_++] = record;
  }
  void drop() {
    dropped_ += count_;
    count_ = 0;
  }
  void close() { closed_ = true; }
  /// A record's number counted from the first kept one, which gets 0; -1 for one that is not there.
  int renumbered(int number) const {
    return number >= 0 && has(static_cast<std::size_t>(number)) ? number - static_cast<int>(dropped_) : -1;
  }
  void renumber() { dropped_ = 0; }

 private:
  struct Free {
    void operator()(T* records) const { std::free(records); }
  };
  // By realloc, which moves large blocks without a copy: a vector would hold one and a half times as much
  // while it grows.
  void grow() {
    static_assert(std::is_trivially_copyable<T>::value, "moved by realloc");
    room_ = std::max<std::size_t>(1024, 2 * room_);
    void* const more = std::realloc(kept_.get(), room_ * sizeof(T));
    if (more == nullptr) throw std::bad_alloc();
    static_cast<void>(kept_.release());
    kept_.reset(static_cast<T*>(more));
  }

  std::unique_ptr<T[], Free> kept_;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
  std::size_t dropped_ = 0;
  bool closed_ = false;
  T nothing_{};
};

class Log {
 public:
  static constexpr int none = -1;
  static constexpr int every_call = INT_MIN;

  /// Of `ranks` ranks. With a `call`, only what comes from two calls before it until all have left the next
  /// is kept: a transfer is written down when it ends.
  Log(int ranks, int call) : ranks_(ranks), call_(call) {}
  /// Bytes of the records that are kept.
  std::size_t bytes() const { return transfers.bytes() + operations.bytes() + states.bytes(); }
  /// Whether all that is kept is there.
  bool closed() const { return operations.closed(); }

  Records<TransferRecord> transfers;
  Records<OperationRecord> operations;
  Records<StateRecord> states;
  std::vector<MarkRecord> marks;

  void mark(const MarkRecord& mark) {
    marks.push_back(mark);
    if (call_ == every_call) return;
    if (mark.kind == MarkKind::enter && mark.call > latest_) {
      latest_ = mark.call;
      if (latest_ <= call_ - 2) {
        transfers.drop();
        operations.drop();
        states.drop();
      }
    } else if (mark.kind == MarkKind::leave && mark.call == call_ + 1 && ++left_ == ranks_) {
      complete_ = mark.time;
    }
  }
  /// When all ranks had left the call after the one that is kept; -1 before. What was asked for until then is
  /// still written down when it ends; then close() is called.
  Cycles complete() const { return complete_; }
  void close() {
    transfers.close();
    operations.close();
    states.close();
  }
  /// Renumbers the kept records to refer to each other. Nothing is logged afterwards.
  void finish() {
    for (OperationRecord& operation : operations) {
      operation.transfer = transfers.renumbered(operation.transfer);
      operation.cause = operations.renumbered(operation.cause);
    }
    transfers.renumber();
    operations.renumber();
    states.renumber();
    writers_.clear();
  }

  /// The operation wrote `bytes` bytes at `offset` of the line.
  void wrote(LineId line, unsigned offset, unsigned bytes, int operation) {
    auto found = writers_.find(line);
    if (found == writers_.end()) {
      found = writers_.emplace(line, std::array<int, 64>{}).first;
      found->second.fill(none);
    }
    for (unsigned b = offset; b < offset + bytes; ++b) found->second[b] = operation;
  }
  /// The operation that wrote the bytes of `mask`, of several the one whose write became visible last; none
  /// if there is none.
  int writer(LineId line, std::uint64_t mask) const {
    const auto found = writers_.find(line);
    if (found == writers_.end()) return none;
    int last = none;
    int seen = none;  // neighbours mostly have one writer
    for (unsigned b = 0; b < 64; ++b) {
      const int writer = found->second[b];
      if ((mask >> b & 1) == 0 || writer == seen || writer < 0) continue;
      seen = writer;
      const auto number = static_cast<std::size_t>(writer);
      if (!operations.has(number)) continue;
      if (last < 0 || operations[number].visible > operations[static_cast<std::size_t>(last)].visible)
        last = writer;
    }
    return last;
  }

 private:
  std::unordered_map<LineId, std::array<int, 64>> writers_;
  int ranks_;
  int call_;
  int latest_ = INT_MIN;  // that a rank has entered
  int left_ = 0;          // ranks that have left the call after the one that is kept
  Cycles complete_ = -1;
};

}  // namespace sim
}  // namespace phicoll
