#include "phicoll/preload/omp/runtimes.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "phicoll/os/kept_errno.hpp"
#include "phicoll/preload/engine.hpp"
#include "phicoll/preload/forks.hpp"

// Distinguishes copies of this library from runtimes, and from each other: all find the first one's by its
// name.
extern "C" {
char phicoll_omp_own_mark;
extern __attribute__((visibility("default"), alias("phicoll_omp_own_mark"))) char phicoll_omp_library;
}

namespace phicoll_omp {

phicoll_preload::Reason left_alone("omp: the program's barriers stay with its runtime");

namespace {

constexpr const char* mark = "phicoll_omp_library";
constexpr int most_callers = 4096;
constexpr int most_runtimes = 16;

// Lists that only grow, under `lock`; a reader sees `count` entries whole (release and acquire).
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Caller callers[most_callers];
std::atomic<int> caller_count{0};
Runtime runtimes[most_runtimes];
std::atomic<int> runtime_count{0};
std::atomic<bool> stays[most_runtimes];  // each runtime, until the process ends
std::atomic<const Caller*> last_caller{nullptr};

__attribute__((constructor)) void begin() {
  phicoll_preload::hold_over_forks<lock>();
}

[[noreturn]] void end_without(const char* symbol) {
  phicoll_preload_print("phicoll: omp: no runtime defines %s\n", symbol);
  abort();
}

// --- What objects import

/// A barrier executes tasks, cancelled constructs end barriers, and a target region has no team of its own
/// thread.
const char* meaning(const char* name) {
  static const char* const tasks[] = {"GOMP_task",
                                      "GOMP_taskloop",
                                      "GOMP_taskloop_ull",
                                      "GOMP_workshare_task_reduction_unregister",
                                      "__kmpc_omp_task",
                                      "__kmpc_omp_task_alloc",
                                      "__kmpc_omp_target_task_alloc",
                                      "__kmpc_taskred_modifier_init",
                                      "__kmpc_task_reduction_modifier_init"};
  for (const char* task : tasks)
    if (strcmp(name, task) == 0) return "tasks, which run in barriers";
  if (strcmp(name, "GOMP_cancel") == 0 || strcmp(name, "__kmpc_cancel") == 0)
    return "cancellation, which ends barriers";
  if (strcmp(name, "GOMP_target") == 0 || strcmp(name, "GOMP_target_ext") == 0 ||
      strncmp(name, "__tgt_target", 12) == 0)
    return "target regions, which leave their team";
  return nullptr;
}

struct Dynamic {
  struct Relocations {
    const ElfW(Rela) * first;
    std::size_t bytes;
    std::size_t without_symbol;  // so many come first
  };
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;  // the older table
  // Data's and calls'. On x86-64 and aarch64 all have an addend.
  Relocations data{}, calls{};

  /// One more than the last symbol that may be imported, as each of these has a relocation. (Which of them
  /// the hash tables list is the linker's choice.)
  std::size_t end_of_imports() const {
    std::size_t end = 0;
    for (const Relocations* part : {&data, &calls}) {
      if (part->first == nullptr) continue;
      for (std::size_t i = part->without_symbol; i < part->bytes / sizeof(ElfW(Rela)); ++i)
        end = std::max<std::size_t>(end, ELF64_R_SYM(part->first[i].r_info) + 1);
    }
    return end;
  }

  bool defines(std::size_t i, const char* name) const {
    return symbols[i].st_shndx != SHN_UNDEF && strcmp(names + symbols[i].st_name, name) == 0;
  }

  /// The symbol of this name that the object defines; null if there is none.
  const ElfW(Sym) * definition(const char* name) const {
    if (symbols == nullptr || names == nullptr) return nullptr;
    if (gnu_hash == nullptr) {
      const std::uint32_t count = hash != nullptr ? hash[1] : 0;
      for (std::uint32_t i = 1; i < count; ++i)
        if (defines(i, name)) return &symbols[i];
      return nullptr;
    }
    // Four numbers, words of a filter, the first symbol of each bucket, and each symbol's hash, whose lowest
    // bit ends a bucket.
    const std::uint32_t buckets = gnu_hash[0], first_hashed = gnu_hash[1], filter_words = gnu_hash[2];
    const std::uint32_t* const firsts = gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
    const std::uint32_t* const hashes = firsts + buckets;
    std::uint32_t wanted = 5381;
    for (const char* at = name; *at != '\0'; ++at) wanted = wanted * 33 + static_cast<unsigned char>(*at);
    std::uint32_t i = buckets != 0 ? firsts[wanted % buckets] : 0;
    if (i < first_hashed) return nullptr;
    for (;; ++i) {
      const std::uint32_t here = hashes[i - first_hashed];
      if ((here | 1) == (wanted | 1) && defines(i, name)) return &symbols[i];
      if ((here & 1) != 0) return nullptr;
    }
  }
};

Dynamic dynamic_of(const dl_phdr_info& object) {
  Dynamic found;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // glibc relocates these in place, except in objects that it does not write to (the vdso).
      const ElfW(Addr) value = entry->d_un.d_ptr;
      const ElfW(Addr) at = value < object.dlpi_addr ? value + object.dlpi_addr : value;
      if (entry->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = reinterpret_cast<const std::uint32_t*>(at);
      if (entry->d_tag == DT_HASH) found.hash = reinterpret_cast<const std::uint32_t*>(at);
      if (entry->d_tag == DT_RELA) found.data.first = reinterpret_cast<const ElfW(Rela)*>(at);
      if (entry->d_tag == DT_RELASZ) found.data.bytes = value;
      if (entry->d_tag == DT_RELACOUNT) found.data.without_symbol = value;
      if (entry->d_tag == DT_JMPREL) found.calls.first = reinterpret_cast<const ElfW(Rela)*>(at);
      if (entry->d_tag == DT_PLTRELSZ) found.calls.bytes = value;
    }
  }
  return found;
}

int look_at_imports(dl_phdr_info* object, std::size_t, void*) {
  const Dynamic dynamic = dynamic_of(*object);
  if (dynamic.symbols == nullptr || dynamic.names == nullptr) return 0;
  const std::size_t end = dynamic.end_of_imports();
  for (std::size_t i = 1; i < end; ++i) {
    const ElfW(Sym)& symbol = dynamic.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF) continue;
    const char* const name = dynamic.names + symbol.st_name;
    if (const char* const what = meaning(name)) {
      const bool program = object->dlpi_name == nullptr || object->dlpi_name[0] == '\0';
      left_alone.set("%s uses OpenMP %s (%s)", program ? "it" : object->dlpi_name, what, name);
      return 1;
    }
  }
  return 0;
}

// --- Which runtime

/// `find(symbol)` is what the runtime's object has; `num_threads` is null if that is no runtime.
template <class Find>
Runtime runtime_of(Find find) {
  Runtime made{};
#define X(member, symbol, type) made.member = reinterpret_cast<type>(find(symbol));
  PHICOLL_OMP_FUNCTIONS(X)
#undef X
  return made.thread_num != nullptr && made.num_threads != nullptr && made.num_procs != nullptr ? made
                                                                                                : Runtime{};
}

/// The objects that define a function, without libraries of this kind.
struct Definers {
  const char* symbol;
  int count;
  const void* first;  ///< the function of the first of them
  Runtime runtime;    ///< that object's
};

int look_for_definer(dl_phdr_info* object, std::size_t, void* definers) {
  auto& all = *static_cast<Definers*>(definers);
  const Dynamic dynamic = dynamic_of(*object);
  const auto find = [&](const char* symbol) -> const void* {
    const ElfW(Sym)* const found = dynamic.definition(symbol);
    return found != nullptr ? reinterpret_cast<const void*>(object->dlpi_addr + found->st_value) : nullptr;
  };
  const void* const function = find(all.symbol);
  if (function == nullptr || find(mark) != nullptr) return 0;
  if (all.count++ != 0) return 0;
  all.first = function;
  all.runtime = runtime_of([&](const char* symbol) { return const_cast<void*>(find(symbol)); });
  return 0;
}

/// Whether the address is in a library of this kind.
bool is_ours(const void* address) {
  Dl_info info;
  Dl_info marked;
  if (dladdr(address, &info) == 0) return false;
  void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return false;
  const void* const found = dlsym(object, mark);
  dlclose(object);
  return found != nullptr && dladdr(found, &marked) != 0 && marked.dli_fbase == info.dli_fbase;
}

/// What `symbol` would have resolved to in the object of this address: in the first object of the global
/// scope that has it, else in those that the object was loaded with, else in `any`. Waits while another
/// thread loads an object, until its constructors have ended.
const void* definition_for(const void* address, const char* symbol, const void* any) {
  const void* found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr && !is_ours(found)) return found;
  Dl_info info;
  if (dladdr(address, &info) == 0) return any;
  void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return any;
  found = dlsym(object, symbol);
  dlclose(object);
  return found != nullptr && !is_ours(found) ? found : any;
}

/// The runtime that the object with this address reaches by `symbol`; without functions if there is none. If
/// one object alone defines it, and that is GNU's runtime, the dynamic linker is not asked: the calling
/// thread may be one that a constructor waits for. (LLVM's and Intel's runtimes ask it in their first call,
/// with a lock of theirs held, which a constructor's region may want. So there the linker is asked before
/// that call.)
Runtime runtime_for(const void* address, const char* symbol) {
  Definers definers{symbol, 0, nullptr, {}};
  dl_iterate_phdr(look_for_definer, &definers);
  Runtime made = definers.runtime;
  if (definers.count > 1 || made.num_threads == nullptr || made.kmp_fork_call != nullptr) {
    Dl_info info;
    const void* const function = definition_for(address, symbol, definers.first);
    if (function == nullptr || dladdr(function, &info) == 0) return Runtime{};
    void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) return Runtime{};
    made = runtime_of([=](const char* name) { return dlsym(object, name); });
    dlclose(object);
  }
  if (made.num_procs != nullptr) made.cpus = made.num_procs();
  return made;
}

/// The entry of that runtime, under the lock; null if there is no room.
const Runtime* entry_of(const Runtime& runtime) {
  const int known = runtime_count.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i)
    if (runtimes[i].parallel == runtime.parallel && runtimes[i].kmp_fork_call == runtime.kmp_fork_call)
      return &runtimes[i];
  if (known == most_runtimes) return nullptr;
  runtimes[known] = runtime;
  runtime_count.store(known + 1, std::memory_order_release);
  return &runtimes[known];
}

struct Extent {
  const char* inside;
  const char* from;
  const char* to;
};

int look_for_extent(dl_phdr_info* object, std::size_t, void* extent) {
  auto& wanted = *static_cast<Extent*>(extent);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const auto* const from = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    if (part.p_type != PT_LOAD || wanted.inside < from || wanted.inside >= from + part.p_memsz) continue;
    wanted.from = from;
    wanted.to = from + part.p_memsz;
    return 1;
  }
  return 0;
}

const Caller* find(const void* address, bool kmp) {
  const auto* const at = static_cast<const char*>(address);
  const int known = caller_count.load(std::memory_order_acquire);
  for (int i = 0; i < known; ++i)
    if (at >= callers[i].from && at < callers[i].to && (kmp ? callers[i].kmp : callers[i].gomp) != nullptr)
      return &callers[i];
  return nullptr;
}

// Asks the dynamic linker and the runtime before it takes the lock: a thread may hold their locks while
// another, which it waits for, wants this one, as where an object's constructor begins a region. (What
// dl_iterate_phdr locks, no constructor holds.)
const Caller& meet(const void* address, bool kmp) {
  const phicoll::os::KeptErrno kept;
  dl_iterate_phdr(look_at_imports, nullptr);
  Extent extent{static_cast<const char*>(address), static_cast<const char*>(address),
                static_cast<const char*>(address) + 1};
  dl_iterate_phdr(look_for_extent, &extent);
  const char* const symbol = kmp ? "__kmpc_fork_call" : "GOMP_parallel";
  const Runtime found = runtime_for(address, symbol);
  pthread_mutex_lock(&lock);
  const Caller* met = find(address, kmp);
  if (met == nullptr) {
    const Runtime* const runtime = found.num_threads != nullptr ? entry_of(found) : nullptr;
    if (runtime == nullptr) end_without(symbol);
    const int known = caller_count.load(std::memory_order_relaxed);
    static thread_local Caller unlisted;  // where thousands of objects were loaded and unloaded
    Caller& made = known < most_callers ? callers[known] : unlisted;
    made = Caller{extent.from, extent.to, kmp ? nullptr : runtime, kmp ? runtime : nullptr};
    if (known < most_callers) caller_count.store(known + 1, std::memory_order_release);
    met = &made;
  }
  pthread_mutex_unlock(&lock);
  return *met;
}

}  // namespace

const Caller& caller(const void* address, bool kmp) {
  const auto* const at = static_cast<const char*>(address);
  const Caller* known = last_caller.load(std::memory_order_acquire);
  if (known != nullptr && at >= known->from && at < known->to && (kmp ? known->kmp : known->gomp) != nullptr)
    return *known;
  known = find(address, kmp);
  if (known == nullptr) known = &meet(address, kmp);
  if (known >= callers && known < callers + most_callers) last_caller.store(known, std::memory_order_release);
  return *known;
}

void keep_runtimes() {
  const int known = runtime_count.load(std::memory_order_acquire);
  for (int i = 0; i < known; ++i) {
    Dl_info info;
    if (stays[i].load(std::memory_order_relaxed)) continue;
    if (dladdr(reinterpret_cast<const void*>(runtimes[i].num_threads), &info) != 0)
      dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);  // never closed
    stays[i].store(true,
                   std::memory_order_relaxed);  // where another thread has done the same, there is no harm
  }
}

bool several_runtimes() {
  return runtime_count.load(std::memory_order_relaxed) > 1;
}

bool preloaded_twice() {
  return dlsym(RTLD_DEFAULT, mark) != &phicoll_omp_own_mark;
}

}  // namespace phicoll_omp
