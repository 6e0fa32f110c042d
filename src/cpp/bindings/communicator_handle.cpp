#include "bindings/communicator_handle.hpp"

#include <pythread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/os/membarrier.hpp"

namespace phicoll {
namespace bindings {
namespace {

unsigned long main_thread = 0;
// Only what a call began on this thread may touch the interpreter's lock.
thread_local Waiting* current = nullptr;

/// The memory and the communicator of a group of one.
class Alone {
 public:
  explicit Alone(std::size_t region_bytes) : bytes_(GroupLayout::total(region_bytes, heap_bytes)) {
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED)
      throw ResourceError("memory_limit: " + std::to_string(bytes_) +
                          " bytes of memory could not be allocated");
    os::register_membarrier();
    GroupLayout::prepare(base_, region_bytes, heap_bytes);
    const GroupMemory memory = GroupLayout::at(base_, region_bytes, heap_bytes);
    memory.control->configure(1, false, 0, 0);
    memory.control->set_cpu(0, -1);
    memory.control->set_pid(0, getpid());
    communicator_.reset(new Communicator(memory, 0, Shape::unknown(1), WaitPolicy()));
  }
  ~Alone() {
    communicator_.reset();
    munmap(base_, bytes_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  Communicator& communicator() { return *communicator_; }

 private:
  static constexpr std::size_t heap_bytes = std::size_t{256} << 20;
  std::size_t bytes_;
  void* base_;
  std::unique_ptr<Communicator> communicator_;
};

Operation operation_named(const std::string& name) {
  return parse_call_name(name).operation;
}

}  // namespace

void* pointer(Address address) {
  static unsigned char nothing;
  if (!address) return nullptr;
  return *address != 0 ? reinterpret_cast<void*>(*address) : &nothing;
}

std::shared_ptr<OperatorHandle> OperatorHandle::predefined(const std::string& op, const std::string& type) {
  auto handle = std::make_shared<OperatorHandle>();
  handle->op_ = find_operator(parse_type(type), parse_op(op));
  return handle;
}

std::shared_ptr<OperatorHandle> OperatorHandle::user(py::function function, std::size_t element_bytes,
                                                     bool commutative, unsigned type) {
  auto handle = std::make_shared<OperatorHandle>();
  handle->function_ = std::move(function);
  handle->op_ =
      user_operator(static_cast<std::uint32_t>(element_bytes), commutative, &call_user, handle.get(), type);
  return handle;
}

void OperatorHandle::combine(std::uintptr_t left, std::uintptr_t right, std::size_t count) const {
  auto* const to = reinterpret_cast<void*>(right);
  if (count > 0) op_.kernel(op_.context, to, reinterpret_cast<const void*>(left), to, count);
}

// MPI's convention: the function finds the right operand where it leaves the result.
void OperatorHandle::call_user(void* context, void* to, const void* left, const void* right,
                               std::size_t count) {
  const auto& self = *static_cast<const OperatorHandle*>(context);
  const std::size_t bytes = count * self.op_.element_bytes;
  std::vector<unsigned char> copy;
  if (to == left) {
    const auto* const from = static_cast<const unsigned char*>(left);
    copy.assign(from, from + bytes);
    left = copy.data();
  }
  if (to != right) std::memcpy(to, right, bytes);
  Nonblocking::on_callers_stack([&] {
    py::gil_scoped_acquire locked;
    const auto length = static_cast<py::ssize_t>(bytes);
    const py::memoryview in = py::memoryview::from_memory(left, length);
    const py::memoryview inout = py::memoryview::from_memory(to, length);
    self.function_(in, inout);
  });
}

std::shared_ptr<void> kept(const py::object& object) {
  if (object.is_none()) return nullptr;
  return std::shared_ptr<void>(py::object(object).release().ptr(), [](void* held) {
    if (Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire locked;
    Py_DECREF(static_cast<PyObject*>(held));
  });
}

void remember_main_thread() {
  main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
}

Waiting::Waiting(GiveUp when) : before_(current) {
  current = this;
  if (when == GiveUp::at_once) state_ = PyEval_SaveThread();
}

Waiting::~Waiting() {
  if (state_ != nullptr) PyEval_RestoreThread(state_);
  current = before_;
}

int Python::threads() {
  if (Py_IsInitialized() == 0) return 0;
  const py::gil_scoped_acquire locked;
#ifdef Py_GIL_DISABLED
  // Stops all threads, since their list would change while this thread walks it.
  return static_cast<int>(py::len(py::module_::import("sys").attr("_current_frames")()));
#else
  int count = 0;
  for (PyThreadState* one = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); one != nullptr;
       one = PyThreadState_Next(one))
    ++count;
  return count;
#endif
}

void Python::tell_of_a_wait() {
  if (current != nullptr && current->state_ == nullptr && PyGILState_Check())
    current->state_ = PyEval_SaveThread();
}

void Python::look_for_signals() {
  if (current == nullptr || PyThread_get_thread_ident() != main_thread)
    return;  // other threads have no signals
  py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::shared_ptr<CommunicatorHandle> CommunicatorHandle::world(Communicator& communicator,
                                                              std::shared_ptr<ProcessGroup> membership,
                                                              std::shared_ptr<void> memory) {
  std::shared_ptr<CommunicatorHandle> handle(new CommunicatorHandle());
  static Python python;
  communicator.set_interpreter(&python);
  handle->communicator_ = &communicator;
  handle->rank_ = communicator.rank();
  handle->size_ = communicator.size();
  handle->state_ = std::make_shared<RankState>();
  handle->state_->membership = std::move(membership);
  handle->state_->memory = std::move(memory);
  return handle;
}

std::shared_ptr<CommunicatorHandle> CommunicatorHandle::alone(std::size_t memory_limit) {
  const auto group = std::make_shared<Alone>(memory_limit);
  return world(group->communicator(), nullptr, group);
}

// No call is in it any more, but this may be any thread: the rank ends it when it leaves.
CommunicatorHandle::~CommunicatorHandle() {
  if (!own_) return;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->open) return;
  own_->abandon();
  state_->dropped.push_back(std::move(own_));
}

Communicator& CommunicatorHandle::open() const {
  if (communicator_ == nullptr) throw Error("this communicator was freed, or its group has ended");
  communicator_->check_process();
  return *communicator_;
}

void CommunicatorHandle::Busy::refuse() {
  throw Error(
      "this communicator is in a call already (another thread's, or the one that called this "
      "function); allowed: one call at a time");
}

py::object CommunicatorHandle::broken() {
  const Control& control = open().control();
  if (!control.broken()) return py::none();
  return py::make_tuple(control.broken_rank(), control.broken_reason());
}

// A caller gives one of a few texts again and again, and parsing one takes longer than a small call.
std::shared_ptr<const AlgorithmSpec> CommunicatorHandle::named(Operation operation,
                                                               const std::string& algorithm) {
  constexpr std::size_t most = 32;
  const std::lock_guard<std::mutex> lock(named_mutex_);
  for (const Named& one : named_)
    if (one.operation == operation && one.text == algorithm) return one.spec;
  auto spec = std::make_shared<const AlgorithmSpec>(family(operation).parse(algorithm));
  if (named_.size() == most) named_.erase(named_.begin());
  named_.push_back(Named{operation, algorithm, std::move(spec)});
  return named_.back().spec;
}

void CommunicatorHandle::select(const std::string& operation, const std::string& algorithm) {
  const Operation named = operation_named(operation);
  call([&](Communicator& communicator) { communicator.select(named, algorithm); });
}

void CommunicatorHandle::reproducible(bool on) {
  call([&](Communicator& communicator) { communicator.reproducible(on); });
}

py::tuple CommunicatorHandle::why(const std::string& operation, std::size_t bytes) {
  const CallFacts facts = parse_call_name(operation, bytes);
  Request request;
  request.operation = facts.operation;
  request.vector = facts.vector;
  request.exclusive = facts.exclusive;
  request.count = bytes;
  const AlgorithmChoice choice = call([&](Communicator& communicator) { return communicator.why(request); });
  return py::make_tuple(choice.spec.text(), choice.why);
}

void CommunicatorHandle::fail(const std::string& reason) {
  open().fail(reason);
}

std::shared_ptr<CommunicatorHandle> CommunicatorHandle::part(std::unique_ptr<Communicator> communicator) {
  if (!communicator) return nullptr;
  std::shared_ptr<CommunicatorHandle> handle(new CommunicatorHandle());
  handle->communicator_ = communicator.get();
  handle->rank_ = communicator->rank();
  handle->size_ = communicator->size();
  handle->own_ = std::move(communicator);
  handle->state_ = state_;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  auto& parts = state_->parts;
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const std::weak_ptr<CommunicatorHandle>& known) { return known.expired(); }),
              parts.end());
  parts.push_back(handle);
  return handle;
}

// A part is known before its call ends: close() finds it, or that a call is under way.
std::shared_ptr<CommunicatorHandle> CommunicatorHandle::split(int color, int key, std::size_t memory_limit) {
  return call([&](Communicator& communicator) { return part(communicator.split(color, key, memory_limit)); });
}

std::shared_ptr<CommunicatorHandle> CommunicatorHandle::dup(std::size_t memory_limit) {
  return call([&](Communicator& communicator) { return part(communicator.dup(memory_limit)); });
}

std::shared_ptr<CommunicatorHandle> CommunicatorHandle::create_group(const std::vector<int>& members, int tag,
                                                                     std::size_t memory_limit) {
  return call([&](Communicator& communicator) {
    return part(communicator.create_group(members, tag, memory_limit));
  });
}

std::vector<int> CommunicatorHandle::members() const {
  std::vector<int> found;
  for (int r = 0; r < size_; ++r) found.push_back(open().control().root_rank(r));
  return found;
}

void CommunicatorHandle::free() {
  open();
  if (!own_) throw ArgumentError("comm", "the communicator of a whole group", "one that Split or Dup made");
  // As a call: it hears Ctrl-C, and an operator of what goes on here may not make it.
  try {
    call([](Communicator& communicator) { communicator.wait_for_all(); });
  } catch (const BrokenGroupError&) {
    // Nobody waits for what was begun here.
  }
  const Busy busy(busy_);
  communicator_ = nullptr;
  py::gil_scoped_release released;
  own_.reset();
}

void CommunicatorHandle::give_back() {
  call([&](Communicator& communicator) {
    std::vector<void*> unused;
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      unused.swap(state_->unused);
    }
    for (void* pointer : unused) communicator.release(pointer);
  });
}

void* CommunicatorHandle::take(std::size_t bytes) {
  give_back();
  return call([&](Communicator& communicator) { return communicator.allocate(bytes); });
}

py::array_t<std::uint8_t> CommunicatorHandle::allocate(std::size_t bytes) {
  void* const memory = take(bytes);
  // An array may be dropped by any thread, and while the rank is in a call: its memory is given back at the
  // rank's next allocation.
  struct Owned {
    std::shared_ptr<RankState> state;
    std::shared_ptr<void> memory;
    void* pointer;
    os::HomeProcess home;
  };
  const py::capsule owner(new Owned{state_, state_->memory, memory, {}}, [](void* owned) {
    const std::unique_ptr<Owned> gone(static_cast<Owned*>(owned));
    if (!gone->home.here()) return;  // in a fork the lock may be held for ever
    const std::lock_guard<std::mutex> lock(gone->state->mutex);
    if (gone->state->open) gone->state->unused.push_back(gone->pointer);
  });
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(bytes), static_cast<std::uint8_t*>(memory),
                                   owner);
}

std::uint64_t CommunicatorHandle::allocate_shared(std::size_t bytes) {
  return open().control().offset_of(take(bytes));
}

void CommunicatorHandle::release_shared(std::uint64_t offset) {
  call([&](Communicator& communicator) { communicator.release(communicator.control().at(offset)); });
}

py::array_t<std::uint8_t> CommunicatorHandle::view_shared(std::uint64_t offset, std::size_t bytes) {
  unsigned char* const memory = open().control().at(offset);
  if (!open().in_shared_memory(memory, bytes))
    throw ArgumentError("offset", std::to_string(offset), "one of this group's heap");
  const py::capsule owner(new std::shared_ptr<void>(state_->memory),
                          [](void* kept) { delete static_cast<std::shared_ptr<void>*>(kept); });
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(bytes), memory, owner);
}

namespace {

// Before counted memory: how many ranks have not dropped their views, or not made them yet.
struct alignas(arch::line_bytes) Views {
  Word<std::uint64_t> left;
};

}  // namespace

std::uint64_t CommunicatorHandle::allocate_counted(std::size_t bytes) {
  void* const memory = take(sizeof(Views) + bytes);
  std::memset(memory, 0, sizeof(Views) + bytes);
  // The caller tells the others the place by a call, which makes this store and the zeros visible to them.
  static_cast<Views*>(memory)->left.atomic().store(static_cast<std::uint64_t>(open().size()),
                                                   std::memory_order_relaxed);
  return open().control().offset_of(memory);
}

py::array_t<std::uint8_t> CommunicatorHandle::view_counted(std::uint64_t offset, std::size_t bytes) {
  unsigned char* const memory = open().control().at(offset);
  if (!open().in_shared_memory(memory, sizeof(Views) + bytes))
    throw ArgumentError("offset", std::to_string(offset), "one of this group's heap");
  struct Held {
    std::shared_ptr<RankState> state;
    std::shared_ptr<void> memory;
    Views* views;
    os::HomeProcess home;
  };
  Held* const held_here = new Held{state_, state_->memory, reinterpret_cast<Views*>(memory), {}};
  const py::capsule owner(held_here, [](void* held) {
    const std::unique_ptr<Held> gone(static_cast<Held*>(held));
    if (!gone->home.here()) return;  // a fork of the rank's process has no view of its own
    // acq_rel: what each rank did with the memory comes before the last one gives it back.
    if (gone->views->left.atomic().fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard<std::mutex> lock(gone->state->mutex);
    if (gone->state->open) gone->state->unused.push_back(gone->views);  // as a rank's own array's
  });
  return py::array_t<std::uint8_t>(static_cast<py::ssize_t>(bytes), memory + sizeof(Views), owner);
}

namespace {

// A window lock's word is the number of ranks that share it, and these bits: one rank holds it alone; a rank
// has left with it.
constexpr std::uint64_t held_alone = std::uint64_t{1} << 62, left_locked = std::uint64_t{1} << 63;

std::atomic<std::uint64_t>& holders_at(std::uintptr_t word) {
  return reinterpret_cast<Word<std::uint64_t>*>(word)->atomic();
}

}  // namespace

bool CommunicatorHandle::try_lock(std::uintptr_t word, bool shared, std::int64_t since_ns) {
  std::atomic<std::uint64_t>& holders = holders_at(word);
  std::uint64_t seen = shared ? holders.load(std::memory_order_relaxed) : 0;
  if ((seen & held_alone) == 0 &&
      holders.compare_exchange_strong(seen, shared ? seen + 1 : held_alone, std::memory_order_acquire)) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->locked.push_back(word);
    return true;
  }
  Control& control = open().control();
  const std::int64_t limit = control.timeout_ns();
  if ((seen & left_locked) != 0 && (!shared || (seen & held_alone) != 0))
    fail("waits for the lock of a window's segment, which a rank held when it left");
  else if (limit > 0 && os::now_ns() - since_ns > limit)
    control.break_group(
        rank_,
        ("waited longer than the group's timeout of " + std::to_string(limit / 1000000) + " ms").c_str(),
        true);
  return false;
}

void CommunicatorHandle::unlock(std::uintptr_t word) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto it = std::find(state_->locked.begin(), state_->locked.end(), word);
    if (it != state_->locked.end()) state_->locked.erase(it);
  }
  std::atomic<std::uint64_t>& holders = holders_at(word);
  const bool alone = (holders.load(std::memory_order_relaxed) & held_alone) != 0;
  holders.fetch_sub(alone ? held_alone : 1, std::memory_order_release);
}

void CommunicatorHandle::check() {
  call(0, [](Communicator& communicator) {
    Envelope none;
    communicator.probe_now(&none);
  });
}

void CommunicatorHandle::close() {
  if (closed()) return;
  if (own_) {
    free();
    return;
  }
  if (!close_idle()) Busy::refuse();
}

bool CommunicatorHandle::leave(std::chrono::nanoseconds patience) {
  if (closed() || close_idle()) return true;
  fail("left while another of its threads was in a call");  // which ends those calls
  const auto since = std::chrono::steady_clock::now();
  do {
    if (std::chrono::steady_clock::now() - since > patience) Busy::refuse();
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!close_idle());
  return false;
}

// A call holds the flag of its communicator. With all flags, no thread is in what ends here, and none comes
// in; nor is another part made, which takes a call.
bool CommunicatorHandle::close_idle() {
  std::vector<std::shared_ptr<CommunicatorHandle>> held{shared_from_this()};
  std::vector<std::unique_ptr<Communicator>> dropped;
  std::shared_ptr<void> memory;
  std::shared_ptr<ProcessGroup> membership;
  std::size_t taken = 0;
  const auto give_back = [&] {
    while (taken > 0) Busy::give_back(held[--taken]->busy_);
  };
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    for (const auto& known : state_->parts)
      if (auto handle = known.lock()) held.push_back(std::move(handle));
    while (taken < held.size() && Busy::take(held[taken]->busy_)) ++taken;
    if (taken < held.size()) {
      give_back();
      return false;
    }
    for (const auto& handle : held) handle->communicator_ = nullptr;
    state_->open = false;
    for (const std::uintptr_t word : state_->locked)
      holders_at(word).fetch_or(left_locked, std::memory_order_relaxed);
    state_->locked.clear();
    state_->parts.clear();
    dropped.swap(state_->dropped);
    if (state_->membership) memory.swap(state_->memory);  // threads' memory is the program's own
    membership.swap(state_->membership);
  }
  {
    py::gil_scoped_release released;  // a watcher thread is joined
    for (const auto& handle : held) handle->own_.reset();
    dropped.clear();
    membership.reset();
    memory.reset();
  }
  give_back();
  return true;
}

}  // namespace bindings
}  // namespace phicoll
