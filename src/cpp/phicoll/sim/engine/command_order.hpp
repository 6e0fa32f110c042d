#pragma once

// Finds commands of local stores without an order: an access must know that earlier ones have ended.
//
// 1. A rank knows of its own accesses, and of commands for whose ends it has waited.
// 2. A command knows what its rank knew then, and the commands that its tag puts before it.
// 3. A rank that reads a word knows of its writers, and of what they knew.
//
// A rank may read a word at any time, unless a command that it knows of may overtake the one that wrote it:
// the rank would see half an entry.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "phicoll/sim/engine/dma_command.hpp"

namespace phicoll {
namespace sim {

class CommandOrder {
 public:
  explicit CommandOrder(std::size_t ranks);

  /// A rank's unit is given a command.
  void issued(int rank, int slot, const DmaCommand& command);
  /// It has been carried out. Throws Error naming two commands if an order was lacking.
  void ended(int rank, int slot);
  /// The rank knows that the command in the slot has ended; that all have that copy into or from these bytes
  /// (nullptr: simply all); which of those have that `next` must follow, as it has asked.
  void waited(int rank, int slot);
  void waited(int rank, const unsigned char* place, std::size_t bytes);
  void asked(int rank, const DmaCommand& next);
  /// The rank itself loads or stores in its own store.
  void accessed(int rank, const void* place, std::size_t bytes, bool writes, bool word);
  /// The rank has read this word.
  void heard(int rank, const void* word);
  /// The rank has read and written it at once.
  void updated(int rank, const void* word);

 private:
  using Number = std::uint32_t;  // of a rank's accesses, from 1
  struct Known {
    Number upto = 0;
    std::vector<Number> missing;  // below, and not known to have ended
    bool has(Number number) const;
    void add(Number number);
    void join(const Known& other);
  };
  using Knowledge = std::vector<Known>;  // a rank each
  struct Access {
    int rank;
    Number number;
    const unsigned char* place;
    std::size_t bytes;
    bool writes, word;
    std::string what;
    std::uint64_t turn = 0;  // which of all accesses it is
  };
  struct Pending {
    Number number;
    int slot;
    bool ended;
    DmaCommand command;
    Knowledge knows;
  };

  static void join(Knowledge& knows, const Knowledge& more);
  template <class Which>
  void learn(int rank, Which which);
  void access(Access access, const Knowledge& knows);
  template <class Visit>
  void meeting(const unsigned char* place, std::size_t bytes, Visit visit) const;
  void note_word(const void* place, std::size_t bytes, const Knowledge& knows, int rank, Number number);
  void forget();
  [[noreturn]] void fail(const Access& later, const Access& earlier, const Knowledge& knows) const;

  std::vector<Knowledge> knows_;               // by rank
  std::vector<Number> count_;                  // by rank
  std::vector<std::vector<Pending>> pending_;  // by rank: not known to it to have ended
  // Those that some rank does not know of, by address. Of fewer bytes than a power of two (the index), one
  // that meets a range begins in it, or less than that power before it.
  std::vector<std::multimap<std::uintptr_t, Access>> accesses_;
  std::uint64_t turns_ = 0;
  std::size_t kept_ = 0, room_ = 64;
  std::unordered_map<std::uintptr_t, Knowledge> words_;  // what their writers knew, by 8 bytes
};

}  // namespace sim
}  // namespace phicoll
