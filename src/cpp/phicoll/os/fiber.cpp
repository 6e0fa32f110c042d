#include "phicoll/os/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "phicoll/arch/stack_switch.hpp"
#include "phicoll/errors.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define PHICOLL_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PHICOLL_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define PHICOLL_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PHICOLL_FIBER_TSAN 1
#endif
#endif

#if defined(PHICOLL_FIBER_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PHICOLL_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace phicoll {
namespace os {

namespace {

// The Itanium ABI's record of a thread's exceptions begins with those that are caught.
// std::current_exception() takes as long as the switch.
extern "C" void* __cxa_get_globals();
void* const* caught_exceptions() {
  return static_cast<void**>(__cxa_get_globals());
}

/// The stacks of usual size that a thread's last fibers have left, for its next ones: a simulation of 240
/// ranks has 240, and the system takes 10 us to map one, to touch it and to unmap it.
class KeptStacks {
 public:
  /// One of them, or null.
  static void* take() {
    List* const kept = list();
    if (kept == nullptr || kept->count == 0) return nullptr;
    return kept->stacks[--kept->count];
  }
  /// Returns false if there are enough.
  static bool keep(void* memory) {
    List* const kept = list();
    if (kept == nullptr || kept->count == most) return false;
    kept->stacks[kept->count++] = memory;
    return true;
  }

 private:
  static constexpr std::size_t most = 256;

  struct List {
    void* stacks[most];
    std::size_t count = 0;
    ~List();
  };
  static List* list() {
    static thread_local List list;
    return ended ? nullptr : &list;
  }
  static thread_local bool ended;  // a fiber may end after its thread's list
};
thread_local bool KeptStacks::ended = false;

KeptStacks::List::~List() {
  ended = true;
  const std::size_t bytes = Fiber::default_stack_bytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < count; ++i) munmap(stacks[i], bytes);
}

}  // namespace

/// Memory for a stack with a guard page below it: stacks grow down on every machine we run on.
class Fiber::Stack {
 public:
  explicit Stack(std::size_t wanted) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (wanted + page_ - 1) / page_ * page_;
    if (bytes_ == Fiber::default_stack_bytes && (memory_ = KeptStacks::take()) != nullptr) return;
    memory_ = mmap(nullptr, bytes_ + page_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED)
      throw ResourceError("no memory for a fiber's stack of " + std::to_string(bytes_) + " bytes");
    if (mprotect(memory_, page_, PROT_NONE) != 0) {
      munmap(memory_, bytes_ + page_);
      throw ResourceError("no guard page for a fiber's stack");
    }
  }
  ~Stack() {
#if defined(PHICOLL_FIBER_ASAN)
    // The frames that were left on it are poisoned, and whatever uses this memory next is not theirs.
    __asan_unpoison_memory_region(bottom(), bytes_);
#endif
    if (bytes_ == Fiber::default_stack_bytes && KeptStacks::keep(memory_)) return;
    munmap(memory_, bytes_ + page_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  unsigned char* bottom() const {
    return static_cast<unsigned char*>(memory_) + page_;
  }
  std::size_t bytes() const {
    return bytes_;
  }
  /// How far below its end the fiber begins: less than a page, and not the same for stacks that lie side by
  /// side. Otherwise the frames of hundreds of fibers would share a few sets of the cache.
  std::size_t unused() const {
    const std::size_t distance = 128;
    return reinterpret_cast<std::uintptr_t>(memory_) / page_ % (page_ / distance) * distance;
  }

 private:
  void* memory_ = nullptr;
  std::size_t page_ = 0;
  std::size_t bytes_ = 0;
};

struct Fiber::State {
  State(std::function<void()> function, std::size_t stack_bytes)
      : body(std::move(function)), stack(stack_bytes) {
    inside.begin(stack.bottom(), stack.bytes() - stack.unused(), &entry, this);
#if defined(PHICOLL_FIBER_TSAN)
    tsan_inside = __tsan_create_fiber(0);
#endif
  }
  ~State() {
#if defined(PHICOLL_FIBER_TSAN)
    __tsan_destroy_fiber(tsan_inside);
#endif
  }

  /// Onto the fiber's stack; returns when the fiber suspends or ends.
  void enter() {
#if defined(PHICOLL_FIBER_ASAN)
    void* own_fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&own_fake_stack, stack.bottom(), stack.bytes());
#endif
#if defined(PHICOLL_FIBER_TSAN)
    tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside, 0);
#endif
    arch::StackSwitch::go(outside, inside);
#if defined(PHICOLL_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(own_fake_stack, nullptr, nullptr);
#endif
  }

  /// Back to the resumer. `last`: never to return, so the sanitizer may drop this stack's fake frames.
  void leave(bool last) {
    (void)last;
#if defined(PHICOLL_FIBER_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, resumer_bottom, resumer_bytes);
#endif
#if defined(PHICOLL_FIBER_TSAN)
    __tsan_switch_to_fiber(tsan_outside, 0);
#endif
    arch::StackSwitch::go(inside, outside);
#if defined(PHICOLL_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, &resumer_bottom, &resumer_bytes);
#endif
  }

  void run() {
#if defined(PHICOLL_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &resumer_bottom, &resumer_bytes);
#endif
    try {
      body();
    } catch (const FiberCancelled&) {
    } catch (...) {
      thrown = std::current_exception();
    }
    body = nullptr;
    finished = true;
    leave(true);
  }

  static void entry(void* self) {
    static_cast<State*>(self)->run();
  }

  arch::StackSwitch inside;
  arch::StackSwitch outside;
  void* const* caught = nullptr;  // of the thread that resumed it
  bool started = false;
  bool running = false;
  bool finished = false;
  bool cancelled = false;
  bool resumer_catches =
      false;  // the resumer itself is inside a catch block: suspend() must not blame the body
  std::exception_ptr thrown;
  std::function<void()> body;
  Stack stack;
#if defined(PHICOLL_FIBER_ASAN)
  const void* resumer_bottom = nullptr;
  std::size_t resumer_bytes = 0;
#endif
#if defined(PHICOLL_FIBER_TSAN)
  void* tsan_inside = nullptr;
  void* tsan_outside = nullptr;
#endif
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : state_(new State(std::move(body), stack_bytes)) {}

Fiber::Fiber() noexcept = default;
Fiber::Fiber(Fiber&&) noexcept = default;

Fiber& Fiber::operator=(Fiber&& other) noexcept {
  Fiber before(std::move(other));
  std::swap(state_, before.state_);
  return *this;
}

Fiber::~Fiber() {
  if (!state_ || !state_->started || state_->finished) return;
  state_->cancelled = true;
  state_->caught = caught_exceptions();
  state_->enter();
}

void Fiber::resume() {
  if (state_->finished || state_->running)
    throw std::logic_error("a fiber that runs or has ended was resumed");
  state_->started = true;
  state_->running = true;
  state_->caught = caught_exceptions();
  state_->resumer_catches = *state_->caught != nullptr;
  state_->enter();
  state_->running = false;
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
}

void Fiber::suspend() {
  State& state = *state_;  // a move may give it to another Fiber before this stack goes on
  if (*state.caught != nullptr && !state.resumer_catches)
    throw std::logic_error("a fiber suspended inside a catch block");
  state.leave(false);
  if (state.cancelled) throw FiberCancelled();
}

bool Fiber::finished() const {
  return state_->finished;
}

}  // namespace os
}  // namespace phicoll
