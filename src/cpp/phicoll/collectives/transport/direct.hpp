#pragma once

// Data that is read in place: its owner writes a handle into shared memory instead of the data. Only where
// all peers can load it: between threads, or in the group's heap. (Two ranks that copy together,
// faster_copy.hpp, use handles elsewhere too; other copies with the kernel's help: exposure.hpp.)
//
// The owner decides call by call and says so with each piece, in the highest bit of its tag. It must not
// overwrite the data before all readers are through (cells.hpp, mailbox.hpp).

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/transport/exposed_words.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

/// Set in the tag of a piece that is read in place.
constexpr std::uint64_t direct_bit = std::uint64_t{1} << 63;

/// The largest size from which data may be read in place, or blocks put.
constexpr int most_direct = 1 << 30;

// Reading in place saves a copy but has a price: when the owner next writes the data, it has to take the
// lines back from its readers' caches, which the lines of a long ring would have left by then. So data that
// fits the owner's cache and is rewritten for each call is better copied, and so is data between CPUs that
// share no cache (docs/collectives.md, "Read where it lies").

/// What an owner does if its CPU and a peer's share no cache.
enum class Far : unsigned char { direct, copied };

/// The parameters of algorithms whose data may be read in place.
struct DirectParameters {
  int from = 0;  ///< bytes, 0 for never
  Far far = Far::direct;
};
template <class Visitor>
void describe_direct(Visitor& visitor, DirectParameters& direct) {
  visitor.integer("direct", direct.from, 0, most_direct,
                  "bytes from which data that all ranks reach is read where it lies; 0: never");
  visitor.choice("far", direct.far, {"direct", "copied"},
                 "whether that is so, too, where CPUs share no cache, as far as a rank knows");
}

/// The parameter of exchanges in which ranks may put their blocks where they go.
template <class Visitor>
void describe_put(Visitor& visitor, int& put) {
  visitor.integer("put", put, 0, most_direct,
                  "bytes from which a block goes into its reader's buffer at once, if all ranks reach both "
                  "ranks' buffers; 0: never");
}
/// The same for a call: where a rank's blocks of `bytes` may be put, `send_bytes` and `receive_bytes` being
/// all its data; nothing if they may not.
template <class Port>
Exposed room_for(Port& port, int put, std::size_t bytes, Data send, std::size_t send_bytes, Data receive,
                 std::size_t receive_bytes) {
  const bool puts = put != 0 && bytes >= static_cast<std::size_t>(put) && port.reachable(send, send_bytes) &&
                    port.reachable(receive, receive_bytes);
  return puts ? port.expose(receive) : Exposed{0, 0, 0};
}

/// The same for a call in which each of two ranks combines operands where results go: also nothing between
/// far CPUs, or if an operand lies where its result goes.
template <class Port>
Exposed room_for_results(Port& port, int put, std::size_t bytes, Data send, Data receive) {
  if (send == receive) return Exposed{0, 0, 0};
  const Exposed room = room_for(port, put, bytes, send, bytes, receive, bytes);
  return room && port.near(bytes) ? room : Exposed{0, 0, 0};
}

/// Decides whether data is read in place.
class Direct {
 public:
  explicit Direct(const DirectParameters& p)
      : from_(p.from == 0 ? SIZE_MAX : static_cast<std::size_t>(p.from)), far_(p.far) {}
  /// Whether the `bytes` at `data` are read in place; `piece` of them are published next.
  template <class Port>
  bool operator()(Port& port, Data data, std::size_t bytes, std::size_t piece) const {
    return bytes >= from_ && port.reachable(data, bytes) && (far_ == Far::direct || port.near(piece));
  }

 private:
  std::size_t from_;
  Far far_;
};

}  // namespace phicoll
