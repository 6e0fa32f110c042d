#include "phicoll/memory/call_board.hpp"

#include <atomic>

namespace phicoll {

constexpr std::uint64_t CallHistory::remembered;
constexpr std::uint64_t CallHistory::multiplier;
constexpr std::uint64_t CallHistory::position;
constexpr unsigned CallBoard::remembered;
constexpr unsigned CallBoard::a_line;
constexpr std::uint64_t CallBoard::is_done;
constexpr unsigned CallBoard::number_bits;

namespace {
std::atomic<CallBoard::Describe> describe_signature{nullptr};

std::string in_words(SignatureWord signature, SignatureWord other) {
  const CallBoard::Describe describe = describe_signature.load(std::memory_order_acquire);
  if (describe != nullptr) return describe(signature, other);
  return signature == 0 ? std::string("barrier") : "signature " + std::to_string(signature);
}
}  // namespace

void CallBoard::set_describe(Describe describe) {
  describe_signature.store(describe, std::memory_order_release);
}

/// Whether `rank` has noted its call number `call` and has not yet overwritten that entry.
bool CallBoard::read(int rank, std::uint64_t call, SignatureWord* signature, std::uint64_t* tag) const {
  const Entry& entry = calls_of(rank).last[call % remembered];
  const std::uint64_t noted = entry.call.atomic().load(std::memory_order_acquire);
  if (number(noted) != number(call)) return false;
  // Acquire: if this is already the next call's signature, the reload below sees that the number has changed.
  *signature = entry.signature.atomic().load(std::memory_order_acquire);
  *tag = tag_of(noted);
  return entry.call.atomic().load(std::memory_order_relaxed) << 1 == noted << 1;  // done or not
}

std::uint64_t CallBoard::inside(int rank) const {
  for (const Entry& entry : calls_of(rank).last) {
    const std::uint64_t noted = entry.call.atomic().load(std::memory_order_relaxed);
    if (noted != 0 && inside(rank, number(noted))) return number(noted);
  }
  return 0;
}

bool CallBoard::find_mismatch(int rank, int ranks, CallMismatch* found, const CallHistory* history) const {
  SignatureWord mine = 0, theirs = 0;
  std::uint64_t my_tag = 0, their_tag = 0;
  const auto read_own = [&](std::uint64_t call) {
    return read(rank, call, &mine, &my_tag) || (history != nullptr && history->find(call, &mine, &my_tag));
  };
  // After the first call that differs, the tags of all later calls differ too. What the calls are says more.
  CallMismatch first{rank, -1, 0, 0, 0};
  std::uint64_t first_tag = 0, others_tag = 0;
  for (int r = 0; r < ranks; ++r)
    for (unsigned slot = 0; r != rank && slot < remembered; ++slot) {
      const std::uint64_t call = number(noted(r, slot));
      if (call == 0 || !read_own(call) || !read(r, call, &theirs, &their_tag)) continue;
      if (mine == theirs && my_tag == their_tag) continue;
      const bool visible = first.of_rank != first.of_other;
      if (first.other >= 0 && (visible != (mine != theirs) ? visible : call >= first.call)) continue;
      first = {rank, r, call, mine, theirs};
      first_tag = my_tag;
      others_tag = their_tag;
    }
  if (first.other < 0) return false;
  int alike = 1;
  int like_other = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) continue;
    if (read(r, first.call, &theirs, &their_tag)) {
      alike += theirs == first.of_rank && their_tag == first_tag ? 1 : 0;
      like_other += theirs == first.of_other && their_tag == others_tag ? 1 : 0;
      continue;
    }
    // `rank` may have gone on, with these calls or with others; the tags of a later call tell. Where both
    // ranks have gone on and none of these calls is known any more, the two did not wait for each other.
    for (unsigned slot = 0; slot < remembered; ++slot) {
      const std::uint64_t later = number(noted(r, slot));
      if (later <= first.call || !read(r, later, &theirs, &their_tag)) continue;
      const bool known = read_own(later);
      if (!known && (history == nullptr || history->begun() <= first.call)) continue;
      ++(!known || my_tag == their_tag ? alike : like_other);
      break;
    }
  }
  // The majority is right; between two ranks, the lower one is.
  const bool own_is_wrong = alike < like_other || (alike == like_other && rank > first.other);
  *found = own_is_wrong ? first : CallMismatch{first.other, rank, first.call, first.of_other, first.of_rank};
  return true;
}

std::string CallBoard::describe(const CallMismatch& mismatch, int rank, int other) {
  if (mismatch.of_rank == mismatch.of_other)
    return "rank " + std::to_string(rank) + " made other calls than rank " + std::to_string(other) +
           " before call " + std::to_string(mismatch.call) + ", " +
           in_words(mismatch.of_rank, mismatch.of_other) + ", or serves it by other parameters";
  return "rank " + std::to_string(rank) + " called " + in_words(mismatch.of_rank, mismatch.of_other) +
         " as call " + std::to_string(mismatch.call) + " while rank " + std::to_string(other) + " called " +
         in_words(mismatch.of_other, mismatch.of_rank);
}

}  // namespace phicoll
