// The card's instructions without a card: the bytes that the compiler emits are decoded (Zydis, Knights
// Corner mode) and executed under an emulator. That the card does with them what its manual says is not shown
// here.

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "k1om_emulator.hpp"

// As the card's GCC does: it defines no __SSE__, and keeps doubles in vector registers all the same.
#undef __SSE__
#define __KNC__ 1
#include "phicoll/arch/arch.hpp"

namespace arch = phicoll::arch;
namespace bytes = phicoll::arch::k1om_bytes;

// Functions whose code is read: out of line, without a branch in them, so that a linear walk to RET sees
// everything.
#define PHICOLL_PROBE extern "C" __attribute__((noinline, used, visibility("default")))
PHICOLL_PROBE void probe_delay() {
  bytes::delay(64);
}
PHICOLL_PROBE void probe_copy(void* line, const void* source) {
  bytes::copy_line(line, source);
}
PHICOLL_PROBE void probe_no_read(void* line, const void* source) {
  bytes::copy_line_no_read(line, source);
}
PHICOLL_PROBE void probe_unordered(void* line, const void* source) {
  bytes::copy_line_no_read_unordered(line, source);
}
PHICOLL_PROBE void probe_evict(const void* line) {
  bytes::evict(line);
}
PHICOLL_PROBE void probe_prefetch(const void* line) {
  bytes::prefetch(line);
}
PHICOLL_PROBE void probe_prefetch_exclusive(const void* line) {
  bytes::prefetch_exclusive(line);
}
PHICOLL_PROBE void probe_order() {
  arch::order_no_read_stores();
}
#if !defined(PHICOLL_THREAD_SANITIZER)
PHICOLL_PROBE void probe_fence() {
  arch::full_fence();
}
#endif

namespace {

using namespace k1om_emulator;
using Text = std::vector<std::string>;

struct alignas(64) Line {
  std::uint64_t word[8];
};

class KncDecoder {
 public:
  KncDecoder() {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder_, ZYDIS_DECODER_MODE_KNC, ZYAN_TRUE);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
  }

  /// One instruction as text; "" where the bytes are none.
  std::string decode(const void* code, std::size_t room, ZydisDecodedInstruction& instruction) const {
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char text[128];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code, room, &instruction, operands)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter_, &instruction, operands,
                                                      instruction.operand_count_visible, text, sizeof text,
                                                      ZYDIS_RUNTIME_ADDRESS_NONE, nullptr))) {
      return "";
    }
    return text;
  }

  /// The card's own (VEX and MVEX encoded) and the locked instructions of a function, in order.
  template <class Function>
  Text special_instructions_of(Function* function) const {
    const unsigned char* code = reinterpret_cast<const unsigned char*>(function);
    Text found;
    for (int i = 0; i < 500; ++i) {
      ZydisDecodedInstruction instruction;
      const std::string text = decode(code, ZYDIS_MAX_INSTRUCTION_LENGTH, instruction);
      if (text.empty()) return {"undecodable"};
      if (instruction.mnemonic == ZYDIS_MNEMONIC_RET) return found;
      if (instruction.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
          (instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) {
        found.push_back(text);
      }
      code += instruction.length;
    }
    return {"no RET in 500 instructions"};
  }

 private:
  ZydisDecoder decoder_;
  ZydisFormatter formatter_;
};

bool is_knc_only(ZydisISASet set) {
  return set == ZYDIS_ISA_SET_KNCE || set == ZYDIS_ISA_SET_KNCV || set == ZYDIS_ISA_SET_KNC_MISC ||
         set == ZYDIS_ISA_SET_KNCSTREAM || set == ZYDIS_ISA_SET_KNC_PF_HINT || set == ZYDIS_ISA_SET_KNCJKBR;
}

TEST(K1omDecode, EveryEncodingIsTheInstructionItIsCalledAfter) {
  const KncDecoder decoder;
  for (const Encoding& each : encodings) {
    ZydisDecodedInstruction instruction;
    EXPECT_EQ(decoder.decode(each.bytes, sizeof each.bytes, instruction), each.text);
    EXPECT_EQ(instruction.length, each.length) << each.text;
    EXPECT_TRUE(is_knc_only(instruction.meta.isa_set))
        << each.text << ": " << ZydisISASetGetString(instruction.meta.isa_set);
  }
}

TEST(K1omDecode, TheCompiledFunctionsContainThem) {
  const KncDecoder decoder;
  const std::string load = "vmovaps zmm0, zmmword ptr [rdi]";
  EXPECT_EQ(decoder.special_instructions_of(probe_delay), Text{"delay eax"});
  EXPECT_EQ(decoder.special_instructions_of(probe_copy), (Text{load, "vmovaps zmmword ptr [rdi], zmm0"}));
  EXPECT_EQ(decoder.special_instructions_of(probe_no_read),
            (Text{load, "vmovnraps zmmword ptr [rdi], zmm0"}));
  EXPECT_EQ(decoder.special_instructions_of(probe_unordered),
            (Text{load, "vmovnrngoaps zmmword ptr [rdi] {eh}, zmm0"}));
  EXPECT_EQ(decoder.special_instructions_of(probe_evict), (Text{"clevict0 [rdi]", "clevict1 [rdi]"}));
  EXPECT_EQ(decoder.special_instructions_of(probe_prefetch), Text{"vprefetch0 [rdi]"});
  EXPECT_EQ(decoder.special_instructions_of(probe_prefetch_exclusive), Text{"vprefetche0 [rdi]"});
  EXPECT_EQ(decoder.special_instructions_of(probe_order), Text{"lock add dword ptr [rsp], 0x00"});
#if !defined(PHICOLL_THREAD_SANITIZER)
  EXPECT_EQ(decoder.special_instructions_of(probe_fence), Text{"lock or dword ptr [rsp], 0x00"});
#endif
}

TEST(K1omRun, SaysWhatItIs) {
  EXPECT_EQ(std::string(arch::name()), "k1om");
  EXPECT_TRUE(arch::has_no_read_stores());
}

TEST(K1omRun, DelayIsGivenItsCycles) {
  const Emulator emulator;
  const unsigned long before = record().executed[delay_eax];
  arch::delay(12345);
  EXPECT_EQ(record().last_operand, 12345u);
  arch::pause();
  EXPECT_EQ(record().last_operand, 64u);
  EXPECT_EQ(record().executed[delay_eax], before + 2);
}

TEST(K1omRun, CacheControlIsGivenItsLineAndChangesNoData) {
  const Emulator emulator;
  Line line;
  for (std::uint64_t i = 0; i < 8; ++i) line.word[i] = i * 7;
  const unsigned long before[] = {record().executed[clevict0], record().executed[clevict1],
                                  record().executed[vprefetch0]};
  arch::evict_line(&line);
  EXPECT_EQ(record().last_operand, reinterpret_cast<std::uint64_t>(&line));
  EXPECT_EQ(record().executed[clevict0], before[0] + 1);
  EXPECT_EQ(record().executed[clevict1], before[1] + 1);
  arch::prefetch_line(&line.word[1]);
  EXPECT_EQ(record().last_operand, reinterpret_cast<std::uint64_t>(&line.word[1]));
  EXPECT_EQ(record().executed[vprefetch0], before[2] + 1);
  arch::full_fence();
  arch::order_no_read_stores();
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(line.word[i], i * 7);
}

struct Store {
  const char* name;
  void (*store)(void*, const void*);
  Instruction instruction;
};
const Store every_store[] = {{"plain", arch::store_line_plain, vmovaps_store},
                             {"no_read", arch::store_line_no_read, vmovnraps},
                             {"no_read_unordered", arch::store_line_no_read_unordered, vmovnrngoaps}};

TEST(K1omRun, LineStoresAreOneStoreOfTheirLineAndNothingElse) {
  const Emulator emulator;
  for (const Store& each : every_store) {
    alignas(64) unsigned char source[128];
    for (std::size_t i = 0; i < sizeof source; ++i) source[i] = static_cast<unsigned char>(5 * i + 1);
    for (std::size_t offset = 0; offset <= 64; ++offset) {  // the card loads from aligned addresses only
      Line lines[3];
      std::memset(lines, 0xa5, sizeof lines);
      const unsigned long before = record().executed[each.instruction];
      each.store(&lines[1], source + offset);
      arch::order_no_read_stores();
      EXPECT_EQ(record().executed[each.instruction], before + 1) << each.name;
      ASSERT_EQ(std::memcmp(&lines[1], source + offset, 64), 0) << each.name << ", offset " << offset;
      Line untouched;
      std::memset(&untouched, 0xa5, sizeof untouched);
      ASSERT_EQ(std::memcmp(&lines[0], &untouched, 64), 0) << each.name;
      ASSERT_EQ(std::memcmp(&lines[2], &untouched, 64), 0) << each.name;
    }
  }
  EXPECT_EQ(record().misaligned, 0u);
}

template <void store(void*, const void*)>
[[gnu::noipa]] double stored_between(double value, Line& line, const Line& source) {
  store(&line, &source);
  return value;
}

TEST(K1omRun, LineStoresKeepADouble) {
  const Emulator emulator;
  Line line;
  const Line source = {{1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(stored_between<arch::store_line_plain>(2.5, line, source), 2.5);
  EXPECT_EQ(stored_between<arch::store_line_no_read>(2.5, line, source), 2.5);
  EXPECT_EQ(stored_between<arch::store_line_no_read_unordered>(2.5, line, source), 2.5);
}

TEST(K1omRun, TheCounterNeverGoesBack) {
  std::uint64_t last = arch::cycles();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = arch::cycles();
    ASSERT_GE(now, last);
    last = now;
  }
}

// Two ranks meet by flags, as in a dissemination barrier: each tells the other by one line store that carries
// flag and data, then waits for the other's. Two lines in turn: a rank comes back to a line after it has
// heard the episode between, which the other sends only when it has read the line.
template <class Tell>
void exchange(const char* name, Tell tell) {
  constexpr std::uint64_t episodes = 1000;
  struct Mailbox {
    Line line[2];
    Line data[2];
  };
  static Mailbox mailboxes[2];
  std::memset(mailboxes, 0, sizeof mailboxes);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  std::atomic<std::uint64_t> wrong{0}, late{0};
  auto rank = [&](unsigned me) {
    zmm0();
    for (std::uint64_t episode = 1; episode <= episodes; ++episode) {
      const std::uint64_t turn = episode % 2;
      tell(mailboxes[1 - me].line[turn], mailboxes[1 - me].data[turn], episode, me);
      const Mailbox& mine = mailboxes[me];
      while (__atomic_load_n(&mine.line[turn].word[0], __ATOMIC_ACQUIRE) != episode) {
        if (std::chrono::steady_clock::now() > limit) return void(++late);
        arch::pause();
      }
      for (unsigned i = 1; i < 8; ++i) {
        const std::uint64_t expected = episode * 16 + 2 * i + (1 - me);
        wrong += __atomic_load_n(&mine.line[turn].word[i], __ATOMIC_RELAXED) != expected;
        wrong += __atomic_load_n(&mine.data[turn].word[i], __ATOMIC_RELAXED) != expected;
      }
    }
  };
  std::thread second(rank, 1u);
  rank(0);
  second.join();
  EXPECT_EQ(late, 0u) << name << ": not done in 120 s";
  EXPECT_EQ(wrong, 0u) << name;
  EXPECT_EQ(record().misaligned, 0u);
}

Line message(std::uint64_t episode, unsigned from) {
  Line line;
  line.word[0] = episode;
  for (unsigned i = 1; i < 8; ++i) line.word[i] = episode * 16 + 2 * i + from;
  return line;
}

TEST(K1omRun, TwoRanksMeetByNoReadStores) {
  const Emulator emulator;
  exchange("ordered", [](Line& line, Line& data, std::uint64_t episode, unsigned me) {
    const Line source = message(episode, me);
    arch::store_line_no_read(&data, &source);
    arch::store_line_no_read(&line, &source);
  });
}

TEST(K1omRun, TwoRanksMeetByUnorderedDataAndAnOrderedFlag) {
  const Emulator emulator;
  exchange("unordered", [](Line& line, Line& data, std::uint64_t episode, unsigned me) {
    const Line source = message(episode, me);
    arch::store_line_no_read_unordered(&data, &source);
    arch::order_no_read_stores();
    arch::store_line_no_read(&line, &source);
  });
}

}  // namespace
