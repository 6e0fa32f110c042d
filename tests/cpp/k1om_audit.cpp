// k1om_audit OBJECT...: decodes the code of x86-64 object files (Zydis, Knights Corner mode) and lists every
// instruction of an instruction-set part that the card is not known to have. Fails where one is found that is
// not excused below.
//
// This reads what a host compiler made of our source, and so finds inline assembly and builtins that have no
// business on the card. It says nothing about the code of the card's own compiler.

#include <Zydis/Zydis.h>
#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// What the card executes: the Pentium's instructions in 64 bits, and its own.
bool card_has(ZydisISASet set) {
  switch (set) {
    case ZYDIS_ISA_SET_I86:
    case ZYDIS_ISA_SET_I186:
    case ZYDIS_ISA_SET_I286PROTECTED:
    case ZYDIS_ISA_SET_I286REAL:
    case ZYDIS_ISA_SET_I386:
    case ZYDIS_ISA_SET_I486:
    case ZYDIS_ISA_SET_I486REAL:
    case ZYDIS_ISA_SET_PENTIUMREAL:
    case ZYDIS_ISA_SET_X87:
    case ZYDIS_ISA_SET_LONGMODE:
    case ZYDIS_ISA_SET_KNCE:
    case ZYDIS_ISA_SET_KNCV:
    case ZYDIS_ISA_SET_KNC_MISC:
    case ZYDIS_ISA_SET_KNCSTREAM:
    case ZYDIS_ISA_SET_KNC_PF_HINT:
    case ZYDIS_ISA_SET_KNCJKBR:
      return true;
    default:
      return false;
  }
}

struct Excuse {
  ZydisISASet set;
  const char* why;
};
const Excuse excuses[] = {
    {ZYDIS_ISA_SET_CMOV, "gcc for x86-64 has no -mno-cmov; gcc for k1om emits none"},
};

/// An instruction of the card alone; the long NOP counts as one in the decoder's tables.
bool is_card_only(const ZydisDecodedInstruction& instruction) {
  return std::strncmp(ZydisISASetGetString(instruction.meta.isa_set), "KNC", 3) == 0 &&
         instruction.mnemonic != ZYDIS_MNEMONIC_NOP;
}

template <class T>
T read_at(const std::vector<unsigned char>& bytes, std::size_t offset) {
  if (offset + sizeof(T) > bytes.size()) throw std::runtime_error("truncated");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Function {
  std::size_t section;
  std::uint64_t start, size;
  std::string name;
};

struct Object {
  std::vector<unsigned char> bytes;
  std::vector<Elf64_Shdr> sections;
  std::vector<Function> functions;

  const char* function_at(std::size_t section, std::uint64_t offset) const {
    for (const Function& each : functions) {
      if (each.section == section && offset >= each.start && offset < each.start + each.size)
        return each.name.c_str();
    }
    return "?";
  }
};

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

Object load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be opened");
  Object object;
  object.bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  const auto header = read_at<Elf64_Ehdr>(object.bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error("not a 64-bit ELF object");
  }
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    object.sections.push_back(read_at<Elf64_Shdr>(object.bytes, header.e_shoff + i * header.e_shentsize));
  }
  for (const Elf64_Shdr& table : object.sections) {
    if (table.sh_type != SHT_SYMTAB) continue;
    const std::size_t names = object.sections.at(table.sh_link).sh_offset;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(object.bytes, table.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const char* name = reinterpret_cast<const char*>(object.bytes.data()) + names + symbol.st_name;
      object.functions.push_back({symbol.st_shndx, symbol.st_value, symbol.st_size, demangled(name)});
    }
  }
  return object;
}

/// Where in which object an instruction-set part was met.
using Findings = std::map<std::string, std::map<std::string, unsigned>>;

struct Totals {
  std::size_t instructions = 0;
  std::size_t card_only = 0;
  std::size_t undecodable = 0;
  Findings excused, refused;
};

void audit(const Object& object, Totals& totals) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_KNC, ZYAN_TRUE);
  for (std::size_t index = 0; index < object.sections.size(); ++index) {
    const Elf64_Shdr& section = object.sections[index];
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0) continue;
    if (section.sh_offset + section.sh_size > object.bytes.size()) throw std::runtime_error("truncated");
    for (std::uint64_t at = 0; at < section.sh_size;) {
      ZydisDecodedInstruction instruction;
      const unsigned char* code = object.bytes.data() + section.sh_offset + at;
      if (!ZYAN_SUCCESS(
              ZydisDecoderDecodeInstruction(&decoder, nullptr, code, section.sh_size - at, &instruction))) {
        std::printf("undecodable at +%#llx in %s\n", static_cast<unsigned long long>(at),
                    object.function_at(index, at));
        ++totals.undecodable;
        break;  // where the next instruction begins is unknown
      }
      const ZydisISASet set = instruction.meta.isa_set;
      ++totals.instructions;
      totals.card_only += is_card_only(instruction);
      if (!card_has(set)) {
        const bool excused = std::any_of(std::begin(excuses), std::end(excuses),
                                         [set](const Excuse& each) { return each.set == set; });
        Findings& findings = excused ? totals.excused : totals.refused;
        ++findings[ZydisISASetGetString(set)][std::string(ZydisMnemonicGetString(instruction.mnemonic)) +
                                              " in " + object.function_at(index, at)];
      }
      at += instruction.length;
    }
  }
}

void print(const char* title, const Findings& findings) {
  for (const auto& part : findings) {
    std::printf("%s %s:\n", title, part.first.c_str());
    for (const auto& place : part.second) std::printf("  %4u x %.110s\n", place.second, place.first.c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: k1om_audit OBJECT...\n");
    return 2;
  }
  Totals totals;
  for (int i = 1; i < count; ++i) {
    try {
      audit(load(arguments[i]), totals);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "k1om_audit: %s: %s\n", arguments[i], error.what());
      return 2;
    }
  }
  print("excused:", totals.excused);
  for (const Excuse& each : excuses) std::printf("  (%s: %s)\n", ZydisISASetGetString(each.set), each.why);
  print("NOT ON THE CARD:", totals.refused);
  std::printf("%zu objects, %zu instructions, %zu of them the card's own, %zu undecodable\n",
              static_cast<std::size_t>(count - 1), totals.instructions, totals.card_only, totals.undecodable);
  return totals.refused.empty() && totals.undecodable == 0 && totals.instructions > 0 ? 0 : 1;
}
