#pragma once

#include <stdarg.h>
#include <stdio.h>

#include <atomic>

#include "phicoll/preload/engine.hpp"

namespace phicoll_preload {

/// Why a program keeps its own barriers: the first reason that is set.
class Reason {
 public:
  /// `kept`: what precedes the reason in the line that says it.
  explicit constexpr Reason(const char* kept) : kept_(kept) {}

  void __attribute__((format(printf, 2, 3))) set(const char* format, ...) {
    if (begun_.exchange(true, std::memory_order_relaxed)) return;
    va_list values;
    va_start(values, format);
    vsnprintf(text_, sizeof text_, format, values);
    va_end(values);
    set_.store(true, std::memory_order_release);
  }
  explicit operator bool() const { return set_.load(std::memory_order_acquire); }
  const char* text() const { return *this ? text_ : ""; }
  /// Prints it once, if there is one.
  void say() {
    if (*this && !said_.load(std::memory_order_relaxed) && !said_.exchange(true, std::memory_order_relaxed))
      phicoll_preload_print("phicoll: %s: %s\n", kept_, text_);
  }

 private:
  const char* kept_;
  char text_[512] = {};
  std::atomic<bool> begun_{false};
  std::atomic<bool> set_{false};
  std::atomic<bool> said_{false};
};

}  // namespace phicoll_preload
