#include "phicoll/measure/copy_probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/os/cross_copy.hpp"

namespace phicoll {
namespace measure {

namespace {

// The fewest pieces: what a scan sends to a rank has the ranks before it in it, and in an allreduce each rank
// reduces one part and hands the result to all.
std::vector<Piece> fewest_pieces(const Work& work, int ranks) {
  const OperationRow& row = row_of(work.operation);
  std::vector<Piece> pieces = pieces_of(work, ranks);
  if (row.exclusive_name != nullptr)
    pieces.erase(std::remove_if(pieces.begin(), pieces.end(),
                                [](const Piece& piece) { return piece.receiver != piece.sender + 1; }),
                 pieces.end());
  if (!row.reduces || row.receives != Part::block || row.sends != Part::block ||
      row.exclusive_name != nullptr)
    return pieces;
  const std::size_t part = static_cast<std::size_t>(work.bytes) / static_cast<std::size_t>(ranks);
  const auto at = [part](int rank) { return part * static_cast<std::size_t>(rank); };
  std::vector<Piece> parts;
  for (const Piece& piece : pieces) {
    parts.push_back({piece.sender, piece.receiver, at(piece.receiver), at(piece.sender), part});
    parts.push_back({piece.sender, piece.receiver, at(piece.sender), at(piece.sender), part});
  }
  return parts;
}

// What the other ranks must know about a rank's buffers. In the group's shared memory while the step runs.
struct alignas(arch::stride_bytes) BufferPlace {
  unsigned char* send;
  unsigned char* receive;
  std::uint64_t heap_send;  // offsets in the group's memory; 0: there was no room
  std::uint64_t heap_receive;
  std::int32_t pid;
};

class Copies {
 public:
  Copies(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers)
      : seat_(seat),
        communicator_(communicator),
        buffers_(buffers),
        places_(reinterpret_cast<BufferPlace*>(communicator.region() + step.place)),
        pieces_(fewest_pieces(step.work, seat.ranks)),
        meet_(seat) {}

  void run() {
    publish();
    meet_();
    const int repeats = copy_repeats(buffers_.work(), seat_.ranks);
    int at = 0;
    for (int way = 0; way < copy_ways; ++way)
      for (int i = 0; i < repeats; ++i, ++at) time(static_cast<CopyWay>(way), at);
    meet_();
    if (!buffers_.work().heap) {
      if (own().heap_send != 0) communicator_.release(address(own().heap_send));
      if (own().heap_receive != 0) communicator_.release(address(own().heap_receive));
    }
    own() = BufferPlace();
  }

 private:
  BufferPlace& own() { return places_[seat_.rank]; }
  unsigned char* address(std::uint64_t offset) { return communicator_.control().at(offset); }
  bool processes() const { return communicator_.control().shared(); }

  void publish() {
    own().send = buffers_.send();
    own().receive = buffers_.receive();
    own().pid = static_cast<std::int32_t>(getpid());
    own().heap_send = own().heap_receive = 0;
    if (!processes()) return;
    if (buffers_.work().heap) {
      own().heap_send = communicator_.control().offset_of(buffers_.send());
      own().heap_receive = communicator_.control().offset_of(buffers_.receive());
      return;
    }
    const auto take = [&](std::uint64_t bytes) -> std::uint64_t {
      try {
        void* const memory = communicator_.allocate(static_cast<std::size_t>(bytes + 1));
        std::memset(memory, 0, static_cast<std::size_t>(bytes));
        return communicator_.control().offset_of(memory);
      } catch (const ResourceError&) {
        return 0;  // no room: the probe skips the ways through the heap
      }
    };
    own().heap_send = take(send_bytes_of(buffers_.work(), seat_.rank, seat_.ranks));
    own().heap_receive = take(receive_bytes_of(buffers_.work(), seat_.rank, seat_.ranks));
  }

  // The same on all ranks once all have published.
  bool has_heap() const {
    for (int r = 0; r < seat_.ranks; ++r)
      if (places_[r].heap_send == 0 || places_[r].heap_receive == 0) return false;
    return true;
  }

  void time(CopyWay way, int at) {
    std::uint64_t& entry = seat_.board.entries(seat_.rank)[at];
    std::uint64_t& exit = seat_.board.exits(seat_.rank)[at];
    entry = exit = 0;
    const bool heap = way >= CopyWay::heap_pull;
    if (heap && (!processes() || !has_heap())) return;
    FreshWrite write = buffers_.fresh_write();
    if (heap) write.to = address(own().heap_send);
    write(static_cast<std::uint64_t>(at));
    meet_();
    const StampClock& clock = seat_.board.clock();
    const std::uint64_t start = clock.before();
    const int kind = static_cast<int>(way) % 3;
    bool copied = true;
    for (const Piece& piece : pieces_) {
      const std::size_t half = kind == 2 && piece.sender != piece.receiver ? piece.bytes / 2 : piece.bytes;
      // pull: all by the receiver; push: all by the sender; both: the first half by the receiver.
      if (piece.receiver == seat_.rank && kind != 1) copied = copy(piece, 0, half, heap) && copied;
      if (piece.sender == seat_.rank && kind == 1) copied = copy(piece, 0, half, heap) && copied;
      if (piece.sender == seat_.rank && kind == 2)
        copied = copy(piece, half, piece.bytes - half, heap) && copied;
    }
    const std::uint64_t end = clock.after();
    meet_();
    if (!copied) return;  // this rank may not copy this way: its zero stamps drop the way for the whole group
    entry = start;
    exit = end;
  }

  bool copy(const Piece& piece, std::size_t from, std::size_t bytes, bool heap) {
    if (bytes == 0) return true;
    const BufferPlace& source = places_[piece.sender];
    const BufferPlace& target = places_[piece.receiver];
    if (heap || !processes() || piece.sender == piece.receiver) {
      unsigned char* const to = heap ? address(target.heap_receive) : target.receive;
      const unsigned char* const what = heap ? address(source.heap_send) : source.send;
      std::memcpy(to + piece.to + from, what + piece.from + from, bytes);
      return true;
    }
    if (piece.receiver == seat_.rank)
      return os::cross_read(source.pid, target.receive + piece.to + from,
                            reinterpret_cast<std::uintptr_t>(source.send + piece.from + from), bytes) == 0;
    return os::cross_write(target.pid, source.send + piece.from + from,
                           reinterpret_cast<std::uintptr_t>(target.receive + piece.to + from), bytes) == 0;
  }

  const Seat& seat_;
  Communicator& communicator_;
  MessageBuffers& buffers_;
  BufferPlace* places_;
  std::vector<Piece> pieces_;
  Meetings meet_;
};

}  // namespace

int copy_repeats(const Work& work, int ranks) {
  return moved_bytes(work, ranks) > (std::uint64_t{32} << 20) ? 3 : 7;
}

void run_copy_probe(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers) {
  Copies(seat, step, communicator, buffers).run();
}

}  // namespace measure
}  // namespace phicoll
