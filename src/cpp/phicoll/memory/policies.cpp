#include "phicoll/memory/policies.hpp"

#include <cstdlib>

namespace phicoll {

namespace {
const char* const allowed_waits = "spin, pause, pause(n) with n from 1 to 100000, yield, adaptive";
}

WaitPolicy parse_wait_policy(const std::string& text) {
  WaitPolicy policy;
  if (text == "adaptive") return policy;
  if (text == "spin") {
    policy.kind = WaitPolicy::Kind::spin;
  } else if (text == "yield") {
    policy.kind = WaitPolicy::Kind::yield;
  } else if (text == "pause") {
    policy.kind = WaitPolicy::Kind::pause;
  } else if (text.size() > 7 && text.compare(0, 6, "pause(") == 0 && text.back() == ')') {
    const std::string digits = text.substr(6, text.size() - 7);
    const bool number = digits.find_first_not_of("0123456789") == std::string::npos && digits.size() <= 6;
    const long count = number ? std::strtol(digits.c_str(), nullptr, 10) : 0;
    if (count < 1 || count > 100000) throw ArgumentError("wait", "'" + text + "'", allowed_waits);
    policy.kind = WaitPolicy::Kind::pause;
    policy.pauses = static_cast<unsigned>(count);
  } else {
    throw ArgumentError("wait", "'" + text + "'", allowed_waits);
  }
  return policy;
}

std::string to_string(const WaitPolicy& policy) {
  switch (policy.kind) {
    case WaitPolicy::Kind::spin:
      return "spin";
    case WaitPolicy::Kind::pause:
      return policy.pauses == 1 ? "pause" : "pause(" + std::to_string(policy.pauses) + ")";
    case WaitPolicy::Kind::yield:
      return "yield";
    case WaitPolicy::Kind::adaptive:
      break;
  }
  return "adaptive";
}

}  // namespace phicoll
