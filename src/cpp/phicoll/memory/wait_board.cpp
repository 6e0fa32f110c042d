#include "phicoll/memory/wait_board.hpp"

#include <algorithm>

namespace phicoll {

namespace {

std::string with_tag(std::int32_t tag) {
  return tag < 0 ? "" : " with tag " + std::to_string(tag);
}

/// What a send or receive awaits.
std::string message_in_words(bool sends, std::uint64_t peer_and_tag) {
  const auto peer = static_cast<std::int32_t>(peer_and_tag >> 32);
  const auto tag = static_cast<std::int32_t>(peer_and_tag);
  const std::string who = peer < 0 ? "any rank" : "rank " + std::to_string(peer);
  return (sends ? who + " to receive a message" : "a message from " + who) + with_tag(tag);
}

constexpr std::uint32_t four_bits = 15;

}  // namespace

std::string WaitMark::request_in_words(std::size_t i) const {
  const auto kind = static_cast<WaitNote::Kind>(
      kind_.atomic().load(std::memory_order_relaxed) >> (kinds_at + kind_bits * i) & four_bits);
  if (kind == WaitNote::Kind::nonblocking) return "a nonblocking call";
  return message_in_words(kind == WaitNote::Kind::send, what_[i].atomic().load(std::memory_order_relaxed));
}

std::string WaitMark::in_words() const {
  const std::uint32_t kinds = kind_.atomic().load(std::memory_order_relaxed);
  const auto kind = static_cast<WaitNote::Kind>(kinds & four_bits);
  const std::uint64_t what = what_[0].atomic().load(std::memory_order_relaxed);
  switch (kind) {
    case WaitNote::Kind::collective:
      return "waits in collective call " + std::to_string(what);
    case WaitNote::Kind::nonblocking:
      return "waits for nonblocking call " + std::to_string(what);
    case WaitNote::Kind::receive:
    case WaitNote::Kind::send:
      return "waits for " + message_in_words(kind == WaitNote::Kind::send, what);
    case WaitNote::Kind::requests:
      break;
  }
  const std::size_t count =
      std::min<std::size_t>(kinds >> count_at & four_bits, std::size_t{WaitedRequests::told});
  std::string words;
  for (std::size_t i = 0; i < count; ++i) words += (i == 0 ? "" : " or ") + request_in_words(i);
  return "waits for " + words + ((kinds >> more_at & 1) != 0 ? " or others" : "");
}

}  // namespace phicoll
