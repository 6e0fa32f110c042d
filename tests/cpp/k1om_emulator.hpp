#pragma once

// Runs the card's own instructions on an x86-64 host, where each is illegal: a SIGILL handler carries them
// out on the interrupted thread's registers and memory. Slow (about 10 us an instruction), for tests only.
//
// Instructions are recognised by the bytes of their whole encoding, so an encoding that is off by one bit
// ends the program with the plain SIGILL it deserves.

#include <sched.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "phicoll/arch/line_words.hpp"

namespace k1om_emulator {

enum Instruction {
  delay_eax,
  clevict0,
  clevict1,
  vprefetch0,
  vprefetche0,
  vmovaps_load,
  vmovaps_store,
  vmovnraps,
  vmovnrngoaps,
  instruction_count
};

struct Encoding {
  Instruction instruction;
  unsigned length;
  unsigned char bytes[10];
  const char* text;  // as the decoder prints it; {eh} is the bit that makes vmovnraps vmovnrngoaps
};

constexpr Encoding encodings[] = {
    {delay_eax, 4, {0xc5, 0xfa, 0xae, 0xf0}, "delay eax"},
    {clevict0, 4, {0xc5, 0xfb, 0xae, 0x3f}, "clevict0 [rdi]"},
    {clevict1, 4, {0xc5, 0xfa, 0xae, 0x3f}, "clevict1 [rdi]"},
    {vprefetch0, 4, {0xc5, 0xf8, 0x18, 0x0f}, "vprefetch0 [rdi]"},
    {vprefetche0, 4, {0xc5, 0xf8, 0x18, 0x2f}, "vprefetche0 [rdi]"},
    {vmovaps_load, 10, {0x62, 0xf1, 0x78, 0x08, 0x28, 0x87}, "vmovaps zmm0, zmmword ptr [rdi]"},
    {vmovaps_store, 10, {0x62, 0xf1, 0x78, 0x08, 0x29, 0x87}, "vmovaps zmmword ptr [rdi], zmm0"},
    {vmovnraps, 10, {0x62, 0xf1, 0x7b, 0x08, 0x29, 0x87}, "vmovnraps zmmword ptr [rdi], zmm0"},
    {vmovnrngoaps, 10, {0x62, 0xf1, 0x7b, 0x88, 0x29, 0x87}, "vmovnrngoaps zmmword ptr [rdi] {eh}, zmm0"},
};

/// What has been executed, by all threads since the start of the program.
struct Record {
  std::atomic<unsigned long> executed[instruction_count];
  std::atomic<std::uint64_t> last_operand;  // of the instructions without a vector: cycles or an address
  std::atomic<unsigned long> misaligned;    // vector operands that the card refuses
};

inline Record& record() {
  static Record the_record;  // constant initialisation: safe in a signal handler
  return the_record;
}

inline unsigned char* zmm0() {
  alignas(64) static thread_local unsigned char contents[64];
  return contents;
}

/// Carries one instruction out; the lines go through atomics, so that ThreadSanitizer sees them too.
inline void execute(Instruction instruction, std::uint64_t rdi, std::uint32_t eax) {
  void* const line = reinterpret_cast<void*>(rdi);
  record().executed[instruction].fetch_add(1, std::memory_order_relaxed);
  if (instruction >= vmovaps_load && rdi % 64 != 0)
    record().misaligned.fetch_add(1, std::memory_order_relaxed);
  switch (instruction) {
    case delay_eax:
      record().last_operand.store(eax, std::memory_order_relaxed);
      sched_yield();  // the sibling's turn
      break;
    case vmovaps_load:
      std::memcpy(zmm0(), line, 64);
      break;
    case vmovaps_store:
    case vmovnraps:
      phicoll::arch::store_words_then_flag(line, zmm0());
      break;
    case vmovnrngoaps: {
      // Unordered: the worst order there is, the flag long before its data.
      phicoll::arch::LineWord* const to = static_cast<phicoll::arch::LineWord*>(line);
      for (int i = 0; i < phicoll::arch::line_words; ++i) {
        std::uint64_t value;
        std::memcpy(&value, zmm0() + 8 * i, sizeof value);
        __atomic_store_n(to + i, value, __ATOMIC_RELAXED);
        if (i == 0) sched_yield();
      }
      break;
    }
    default:  // hints about caches
      record().last_operand.store(rdi, std::memory_order_relaxed);
      break;
  }
}

inline void handle(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  greg_t* const registers = machine.gregs;
  const unsigned char* const code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  for (const Encoding& each : encodings) {
    if (std::memcmp(code, each.bytes, each.length) == 0) {
      execute(each.instruction, static_cast<std::uint64_t>(registers[REG_RDI]),
              static_cast<std::uint32_t>(registers[REG_RAX]));
      // xmm0, where a compiler keeps doubles, is the low part of the register.
      if (each.instruction == vmovaps_load) std::memcpy(machine.fpregs->_xmm, zmm0(), 16);
      registers[REG_RIP] += each.length;
      return;
    }
  }
  signal(SIGILL, SIG_DFL);  // executed again on return, this time fatally
}

/// Emulates while it lives.
class Emulator {
 public:
  Emulator() {
    zmm0();  // the thread's buffer exists before a handler asks for it
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGILL, &action, &before_);
  }
  ~Emulator() { sigaction(SIGILL, &before_, nullptr); }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

 private:
  struct sigaction before_;
};

}  // namespace k1om_emulator
