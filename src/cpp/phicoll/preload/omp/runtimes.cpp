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

#include "phicoll/preload/engine.hpp"
#include "phicoll/preload/forks.hpp"

// Distinguishes copies of this library from runtimes, and from each other: all find the first one's by its name.
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
std::atomic<const Caller*> last_caller{nullptr};

__attribute__((constructor)) void begin() {
  phicoll_preload::hold_over_forks<lock>();
}

[[noreturn]] void end_without(const char* symbol) {
  phicoll_preload_print("phicoll: omp: no runtime defines %s\n", symbol);
  abort();
}

// --- What objects import

/// A barrier executes tasks, cancelled constructs end barriers, and a target region has no team of its own thread.
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
  // Data's and calls'. On x86-64 and aarch64 all have an addend.
  Relocations data{}, calls{};

  /// One more than the last symbol that may be imported, as each of these has a relocation. (Which of them the hash tables list is the
  /// linker's choice.)
  std::size_t end_of_imports() const {
    std::size_t end = 0;
    for (const Relocations* part : {&data, &calls}) {
      if (part->first == nullptr) continue;
      for (std::size_t i = part->without_symbol; i < part->bytes / sizeof(ElfW(Rela)); ++i)
        end = std::max<std::size_t>(end, ELF64_R_SYM(part->first[i].r_info) + 1);
    }
    return end;
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

void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Whether the address is in a library of this kind.
bool is_ours(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0) return false;
  void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return false;
  const void* const marked = dlsym(object, mark);
  const bool ours = marked != nullptr && base_of(marked) == info.dli_fbase;
  dlclose(object);
  return ours;
}

// Names first, since the loader's locks must not be taken within dl_iterate_phdr.
struct Names {
  char* of[most_callers];
  int count;
};

int note_name(dl_phdr_info* object, std::size_t, void* names) {
  auto& all = *static_cast<Names*>(names);
  if (object->dlpi_name != nullptr && object->dlpi_name[0] != '\0' && all.count < most_callers)
    all.of[all.count++] = strdup(object->dlpi_name);
  return 0;
}

void* definition_anywhere(const char* symbol) {
  auto* const names = static_cast<Names*>(calloc(1, sizeof(Names)));
  if (names == nullptr) return nullptr;
  dl_iterate_phdr(note_name, names);
  void* found = nullptr;
  for (int i = 0; i < names->count; ++i) {
    void* const object = found == nullptr ? dlopen(names->of[i], RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    free(names->of[i]);
    if (object == nullptr) continue;
    found = dlsym(object, symbol);
    dlclose(object);
    if (found != nullptr && is_ours(found)) found = nullptr;
  }
  free(names);
  return found;
}

/// What `symbol` would have resolved to in the object of this address: in the first object of the global scope that has
/// it, else in those that the object was loaded with, else in any.
void* definition_for(const void* address, const char* symbol) {
  void* found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr && !is_ours(found)) return found;
  Dl_info info;
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    if (void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(object, symbol);
      dlclose(object);
      if (found != nullptr && !is_ours(found)) return found;
    }
  }
  return definition_anywhere(symbol);
}

/// The runtime that has this function, or without a base if there is none.
Runtime runtime_with(const void* function) {
  Runtime made{};
  Dl_info info;
  if (function == nullptr || dladdr(function, &info) == 0) return made;
  made.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);  // never closed
  if (made.handle == nullptr) return made;
#define X(member, symbol, type) made.member = reinterpret_cast<type>(dlsym(made.handle, symbol));
  PHICOLL_OMP_FUNCTIONS(X)
#undef X
  if (made.thread_num == nullptr || made.num_threads == nullptr || made.num_procs == nullptr) return made;
  made.cpus = made.num_procs();
  made.base = info.dli_fbase;
  return made;
}

/// The entry of that runtime, under the lock; null if there is no room.
const Runtime* entry_of(const Runtime& runtime) {
  const int known = runtime_count.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i)
    if (runtimes[i].base == runtime.base) return &runtimes[i];
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

// Asks the dynamic linker and the runtime before it takes the lock: a thread may hold their locks while another, which it waits for,
// wants this one, as where an object's constructor begins a region.
const Caller& meet(const void* address, bool kmp) {
  dl_iterate_phdr(look_at_imports, nullptr);
  Extent extent{static_cast<const char*>(address), static_cast<const char*>(address),
                static_cast<const char*>(address) + 1};
  dl_iterate_phdr(look_for_extent, &extent);
  const char* const symbol = kmp ? "__kmpc_fork_call" : "GOMP_parallel";
  const Runtime found = runtime_with(definition_for(address, symbol));
  pthread_mutex_lock(&lock);
  const Caller* met = find(address, kmp);
  if (met == nullptr) {
    const Runtime* const runtime = found.base != nullptr ? entry_of(found) : nullptr;
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

bool several_runtimes() {
  return runtime_count.load(std::memory_order_relaxed) > 1;
}

bool preloaded_twice() {
  return dlsym(RTLD_DEFAULT, mark) != &phicoll_omp_own_mark;
}

}  // namespace phicoll_omp
