#include "phicoll/arch/stack_switch.hpp"

#include <cstdint>
#include <new>

namespace phicoll {
namespace arch {

#if defined(PHICOLL_OWN_STACK_SWITCH)

// phicoll_switch_stack(void** kept, void* next) pushes the callee-saved registers, stores the stack pointer
// in *kept and restores the registers from `next`. phicoll_first_step is where a new stack begins: it calls
// the function with the argument that begin() put into two of those registers. A return address of 0 ends a
// debugger's list of frames.
extern "C" {
void phicoll_switch_stack(void** kept, void* next) __attribute__((visibility("hidden")));
void phicoll_first_step() __attribute__((visibility("hidden")));
}

namespace {

std::uintptr_t word_of(void (*function)()) {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace

#if defined(__x86_64__)

// The control words of SSE and x87 are left alone: no function that runs on a stack of its own changes them.
// `jmp` instead of `ret`: the return stack of the branch predictor knows nothing of the other stack.
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl phicoll_switch_stack\n"
    ".hidden phicoll_switch_stack\n"
    ".type phicoll_switch_stack, @function\n"
    "phicoll_switch_stack:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  popq %rdx\n"
    "  jmp *%rdx\n"
    ".size phicoll_switch_stack, . - phicoll_switch_stack\n"
    ".p2align 4\n"
    ".globl phicoll_first_step\n"
    ".hidden phicoll_first_step\n"
    ".type phicoll_first_step, @function\n"
    "phicoll_first_step:\n"
    "  movq %rbx, %rdi\n"
    "  jmp *%r12\n"
    ".size phicoll_first_step, . - phicoll_first_step\n");

namespace {

struct Kept {
  std::uintptr_t r15 = 0, r14 = 0, r13 = 0, r12, rbx, rbp = 0, next;
  std::uintptr_t unused = 0;  // keeps the stack aligned

  Kept(StackSwitch::Function function, void* argument)
      : r12(reinterpret_cast<std::uintptr_t>(function)),
        rbx(reinterpret_cast<std::uintptr_t>(argument)),
        next(word_of(&phicoll_first_step)) {}
};

}  // namespace

#else

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl phicoll_switch_stack\n"
    ".hidden phicoll_switch_stack\n"
    ".type phicoll_switch_stack, %function\n"
    "phicoll_switch_stack:\n"
    "  sub sp, sp, #160\n"
    "  stp d8, d9, [sp]\n"
    "  stp d10, d11, [sp, #16]\n"
    "  stp d12, d13, [sp, #32]\n"
    "  stp d14, d15, [sp, #48]\n"
    "  stp x19, x20, [sp, #64]\n"
    "  stp x21, x22, [sp, #80]\n"
    "  stp x23, x24, [sp, #96]\n"
    "  stp x25, x26, [sp, #112]\n"
    "  stp x27, x28, [sp, #128]\n"
    "  stp x29, x30, [sp, #144]\n"
    "  mov x2, sp\n"
    "  str x2, [x0]\n"
    "  mov sp, x1\n"
    "  ldp d8, d9, [sp]\n"
    "  ldp d10, d11, [sp, #16]\n"
    "  ldp d12, d13, [sp, #32]\n"
    "  ldp d14, d15, [sp, #48]\n"
    "  ldp x19, x20, [sp, #64]\n"
    "  ldp x21, x22, [sp, #80]\n"
    "  ldp x23, x24, [sp, #96]\n"
    "  ldp x25, x26, [sp, #112]\n"
    "  ldp x27, x28, [sp, #128]\n"
    "  ldp x29, x30, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  br x30\n"
    ".size phicoll_switch_stack, . - phicoll_switch_stack\n"
    ".p2align 4\n"
    ".globl phicoll_first_step\n"
    ".hidden phicoll_first_step\n"
    ".type phicoll_first_step, %function\n"
    "phicoll_first_step:\n"
    "  mov x0, x19\n"
    "  mov x30, xzr\n"
    "  br x20\n"
    ".size phicoll_first_step, . - phicoll_first_step\n");

namespace {

struct Kept {
  std::uint64_t d8_to_d15[8] = {};
  std::uintptr_t x19, x20;
  std::uintptr_t x21_to_x28[8] = {};
  std::uintptr_t x29 = 0;
  std::uintptr_t x30;

  Kept(StackSwitch::Function function, void* argument)
      : x19(reinterpret_cast<std::uintptr_t>(argument)),
        x20(reinterpret_cast<std::uintptr_t>(function)),
        x30(word_of(&phicoll_first_step)) {}
};

}  // namespace

#endif

void StackSwitch::begin(void* bottom, std::size_t bytes, Function function, void* argument) {
  // Once the registers are popped, x86-64 finds the return address there, at 8 modulo 16; on aarch64 the
  // stack is empty.
  const auto end = (reinterpret_cast<std::uintptr_t>(bottom) + bytes) / 16 * 16;
  top_ = new (reinterpret_cast<void*>(end - sizeof(Kept))) Kept(function, argument);
}

void StackSwitch::go(StackSwitch& here, StackSwitch& there) {
  phicoll_switch_stack(&here.top_, there.top_);
}

#else

void StackSwitch::enter(unsigned low, unsigned high) {
  const std::uint64_t address = static_cast<std::uint64_t>(high) << 32 | low;
  auto* const self = reinterpret_cast<StackSwitch*>(static_cast<std::uintptr_t>(address));
  self->function_(self->argument_);
}

void StackSwitch::begin(void* bottom, std::size_t bytes, Function function, void* argument) {
  function_ = function;
  argument_ = argument;
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  // makecontext passes ints only: the pointer goes in two.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&enter), 2, static_cast<unsigned>(self & 0xffffffffu),
              static_cast<unsigned>(static_cast<std::uint64_t>(self) >> 32));
}

void StackSwitch::go(StackSwitch& here, StackSwitch& there) {
  swapcontext(&here.context_, &there.context_);
}

#endif

}  // namespace arch
}  // namespace phicoll
