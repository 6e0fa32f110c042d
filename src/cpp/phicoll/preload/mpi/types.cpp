// Datatypes and operators: which of the MPI's are phicoll's, and packing for those whose elements do not lie
// as they are sent.

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

namespace phicoll_mpi {

bool packs_plainly = false;

namespace {

/// Which operators the MPI allows on a type, beyond what phicoll has.
enum class Allowed : unsigned char { all, bits_only, logic_only };

/// A predefined type. `name` is phicoll's, null where it has no operators on it.
struct Predefined {
  MPI_Datatype type;
  const char* name;
  Allowed allowed;
  TypeFacts facts;
};
constexpr int most_predefined = 64;
Predefined predefined[most_predefined];
int predefined_count = 0;

struct NamedOp {
  MPI_Op op;
  const char* name;
};
constexpr int named_ops = 12;
NamedOp ops[named_ops];
const PhicollOperator* operators[most_predefined][named_ops];

const char* integer(size_t bytes, bool with_sign) {
  switch (bytes) {
    case 1:
      return with_sign ? "int8" : "uint8";
    case 2:
      return with_sign ? "int16" : "uint16";
    case 4:
      return with_sign ? "int32" : "uint32";
    case 8:
      return with_sign ? "int64" : "uint64";
    default:
      return nullptr;
  }
}

size_t size_of(MPI_Datatype type) {
  int size = 0;
  return PMPI_Type_size(type, &size) == MPI_SUCCESS && size > 0 ? static_cast<size_t>(size) : 0;
}

/// Leaves out what this MPI was built without.
void add(MPI_Datatype type, const char* name, Allowed allowed = Allowed::all) {
  if (type == MPI_DATATYPE_NULL || predefined_count == most_predefined) return;
  MPI_Aint lower = 0;
  Predefined& row = predefined[predefined_count];
  row.type = type;
  row.name = name;
  row.allowed = allowed;
  row.facts.size = size_of(type);
  if (row.facts.size == 0 || PMPI_Type_get_extent(type, &lower, &row.facts.extent) != MPI_SUCCESS) return;
  row.facts.plain = lower == 0 && row.facts.extent == static_cast<MPI_Aint>(row.facts.size);
  ++predefined_count;
}

void add_integer(MPI_Datatype type, size_t bytes, bool with_sign) {
  add(type, integer(bytes, with_sign));
}

// Fortran's types have the sizes that the MPI's compiler gave them.
void add_fortran_integer(MPI_Datatype type) {
  if (type != MPI_DATATYPE_NULL) add_integer(type, size_of(type), true);
}

void add_fortran_real(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return;
  const size_t bytes = size_of(type);
  add(type, bytes == 2 ? "float16" : bytes == 4 ? "float32" : bytes == 8 ? "float64" : nullptr);
}

// MPIs that have them give them various names.
void add_halves() {
#if defined MPI_FLOAT16_T
  add(MPI_FLOAT16_T, "float16");
#endif
#if defined MPIX_C_FLOAT16
  add(MPIX_C_FLOAT16, "float16");
#endif
#if defined MPI_BFLOAT16_T
  add(MPI_BFLOAT16_T, "bfloat16");
#endif
#if defined MPIX_BFLOAT16
  add(MPIX_BFLOAT16, "bfloat16");
#endif
}

void add_fortran_complex(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return;
  const size_t bytes = size_of(type);
  add(type, bytes == 8 ? "complex64" : bytes == 16 ? "complex128" : nullptr);
}

const Predefined* find_predefined(MPI_Datatype type) {
  static const Predefined* latest = nullptr;  // shared by all threads
  const Predefined* const known = __atomic_load_n(&latest, __ATOMIC_RELAXED);
  if (known != nullptr && known->type == type) return known;
  for (int i = 0; i < predefined_count; ++i)
    if (predefined[i].type == type) {
      __atomic_store_n(&latest, &predefined[i], __ATOMIC_RELAXED);
      return &predefined[i];
    }
  return nullptr;
}

/// The MPI's own pack may put something before the data, or swap bytes. This is tried once, on a type with a
/// gap.
bool packing_is_plain() {
  struct Pair {
    double value;
    int index;
  } const pairs[2] = {{1.5, 7}, {-2.5, 9}};
  unsigned char wanted[2 * 12];
  for (int i = 0; i < 2; ++i) {
    memcpy(wanted + 12 * i, &pairs[i].value, 8);
    memcpy(wanted + 12 * i + 8, &pairs[i].index, 4);
  }
  unsigned char packed[64] = {};
  int at = 0;
  return PMPI_Pack(pairs, 2, MPI_DOUBLE_INT, packed, sizeof packed, &at, MPI_COMM_SELF) == MPI_SUCCESS &&
         at == static_cast<int>(sizeof wanted) && memcmp(packed, wanted, sizeof wanted) == 0;
}

/// While it lives, what this MPI refuses is no error of the program's.
class Quietly {
 public:
  Quietly() {
    for (int i = 0; i < 2; ++i) {
      PMPI_Comm_get_errhandler(comms_[i], &kept_[i]);
      PMPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ~Quietly() {
    for (int i = 0; i < 2; ++i) {
      PMPI_Comm_set_errhandler(comms_[i], kept_[i]);
      PMPI_Errhandler_free(&kept_[i]);
    }
  }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;

 private:
  const MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};  // whose handlers would hear of a refusal
  MPI_Errhandler kept_[2];
};

/// The standard has no reductions of MPI_CHAR, but most MPIs make them, as of C's char, and OSU's benchmarks
/// ask for them by default. This MPI is tried once.
bool chars_are_integers() {
  const char negative = static_cast<char>(-1);
  char sum = 3;
  char greatest = 1;
  return PMPI_Reduce_local(&negative, &sum, 1, MPI_CHAR, MPI_SUM) == MPI_SUCCESS &&
         PMPI_Reduce_local(&negative, &greatest, 1, MPI_CHAR, MPI_MAX) == MPI_SUCCESS && sum == 2 &&
         greatest == (CHAR_MIN < 0 ? 1 : negative);
}

/// Fortran's compilers have values of their own for true. This MPI is tried once on gfortran's and Intel's:
/// whether it makes what C makes of an integer.
bool logicals_are_integers() {
  if (MPI_LOGICAL == MPI_DATATYPE_NULL || size_of(MPI_LOGICAL) != sizeof(int)) return false;
  const int values[] = {0, 1, -1};
  for (const int a : values)
    for (const int b : values) {
      int both = b;
      int any = b;
      int one = b;
      if (PMPI_Reduce_local(&a, &both, 1, MPI_LOGICAL, MPI_LAND) != MPI_SUCCESS ||
          PMPI_Reduce_local(&a, &any, 1, MPI_LOGICAL, MPI_LOR) != MPI_SUCCESS ||
          PMPI_Reduce_local(&a, &one, 1, MPI_LOGICAL, MPI_LXOR) != MPI_SUCCESS)
        return false;
      const bool as_in_c = both == (a != 0 && b != 0 ? 1 : 0) && any == (a != 0 || b != 0 ? 1 : 0) &&
                           one == ((a != 0) != (b != 0) ? 1 : 0);
      if (!as_in_c) return false;
    }
  return true;
}

// Those with sizes in their names are there if the MPI was built with Fortran.
void add_fortran_types() {
  add_fortran_integer(MPI_INTEGER);
  add_fortran_real(MPI_REAL);
  add_fortran_real(MPI_DOUBLE_PRECISION);
  add_fortran_complex(MPI_COMPLEX);
  add_fortran_complex(MPI_DOUBLE_COMPLEX);
#if defined MPI_INTEGER1 && defined MPI_INTEGER2 && defined MPI_INTEGER4 && defined MPI_INTEGER8
  add_fortran_integer(MPI_INTEGER1);
  add_fortran_integer(MPI_INTEGER2);
  add_fortran_integer(MPI_INTEGER4);
  add_fortran_integer(MPI_INTEGER8);
#endif
#if defined MPI_REAL4 && defined MPI_REAL8 && defined MPI_COMPLEX8 && defined MPI_COMPLEX16
#if defined MPI_REAL2
  add_fortran_real(MPI_REAL2);
#endif
  add_fortran_real(MPI_REAL4);
  add_fortran_real(MPI_REAL8);
  add_fortran_complex(MPI_COMPLEX8);
  add_fortran_complex(MPI_COMPLEX16);
#endif
  add(MPI_LOGICAL, logicals_are_integers() ? "int32" : nullptr, Allowed::logic_only);
  add(MPI_CHARACTER, nullptr);
  const bool pairs_of_ints = MPI_INTEGER != MPI_DATATYPE_NULL && size_of(MPI_INTEGER) == sizeof(int);
  add(MPI_2INTEGER, pairs_of_ints ? "two_int" : nullptr);
  add(MPI_2REAL, nullptr);
  add(MPI_2DOUBLE_PRECISION, nullptr);
}

constexpr size_t most_packed = size_t{1} << 30;

// Packs or unpacks some elements, of `bytes` in all, by the MPI. Returns whether it did.
#if MPI_VERSION >= 4
bool pack_some(const void* from, size_t count, MPI_Datatype type, unsigned char* to, size_t bytes) {
  MPI_Count at = 0;
  return PMPI_Pack_c(from, static_cast<MPI_Count>(count), type, to, static_cast<MPI_Count>(bytes), &at,
                     MPI_COMM_SELF) == MPI_SUCCESS;
}

bool unpack_some(const unsigned char* from, size_t bytes, void* to, size_t count, MPI_Datatype type) {
  MPI_Count at = 0;
  return PMPI_Unpack_c(from, static_cast<MPI_Count>(bytes), &at, to, static_cast<MPI_Count>(count), type,
                       MPI_COMM_SELF) == MPI_SUCCESS;
}
#else
/// This rank alone, where the program awaits no message. Made in MPI_Init, when no thread of the program's
/// uses MPI_COMM_SELF; and no duplicate of that, whose attributes may have functions of the program's.
MPI_Comm own_comm = MPI_COMM_NULL;

void make_own_comm() {
  MPI_Group alone;
  PMPI_Comm_group(MPI_COMM_SELF, &alone);
  PMPI_Comm_create(MPI_COMM_SELF, alone, &own_comm);
  PMPI_Group_free(&alone);
  PMPI_Comm_set_errhandler(own_comm, MPI_ERRORS_RETURN);
}

/// Sends elements of one type to this rank itself, as elements of another. Each message has a tag of its own
/// among those of threads that do this at the same time; all tags to 32767 are allowed.
bool send_to_self(const void* from, size_t count, MPI_Datatype type, void* to, size_t to_count,
                  MPI_Datatype to_type) {
  static unsigned messages = 0;
  const int tag = static_cast<int>(__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED) % 32768);
  return PMPI_Sendrecv(from, static_cast<int>(count), type, 0, tag, to, static_cast<int>(to_count), to_type,
                       0, tag, own_comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/// Bytes as one element, as they may be more than an int counts.
class AsOne {
 public:
  explicit AsOne(size_t bytes) {
    int counts[] = {static_cast<int>(bytes / block_bytes), static_cast<int>(bytes % block_bytes)};
    MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes - bytes % block_bytes)};
    MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_BYTE};
    PMPI_Type_contiguous(block_bytes, MPI_BYTE, &types[0]);
    PMPI_Type_create_struct(2, counts, places, types, &type);
    PMPI_Type_commit(&type);
    PMPI_Type_free(&types[0]);
  }
  ~AsOne() { PMPI_Type_free(&type); }
  AsOne(const AsOne&) = delete;
  AsOne& operator=(const AsOne&) = delete;
  MPI_Datatype type;

 private:
  static constexpr int block_bytes = 1 << 20;
};

// Counts of bytes are ints, so an element of more bytes goes as a message.
bool pack_some(const void* from, size_t count, MPI_Datatype type, unsigned char* to, size_t bytes) {
  int at = 0;
  if (bytes > INT_MAX) return send_to_self(from, count, type, to, 1, AsOne(bytes).type);
  return PMPI_Pack(from, static_cast<int>(count), type, to, static_cast<int>(bytes), &at, MPI_COMM_SELF) ==
         MPI_SUCCESS;
}

bool unpack_some(const unsigned char* from, size_t bytes, void* to, size_t count, MPI_Datatype type) {
  int at = 0;
  if (bytes > INT_MAX) return send_to_self(from, 1, AsOne(bytes).type, to, count, type);
  return PMPI_Unpack(from, static_cast<int>(bytes), &at, to, static_cast<int>(count), type, MPI_COMM_SELF) ==
         MPI_SUCCESS;
}
#endif

/// A type whose elements lie where they do from MPI_BOTTOM, for another address: MPICH refuses a null address
/// to its pack.
class FromBottom {
 public:
  FromBottom(MPI_Datatype type, size_t elements) {
    int counts[] = {static_cast<int>(elements)};
    MPI_Aint places[] = {-reinterpret_cast<MPI_Aint>(address())};
    PMPI_Type_create_hindexed(1, counts, places, type, &type_);
    PMPI_Type_commit(&type_);
  }
  ~FromBottom() { PMPI_Type_free(&type_); }
  FromBottom(const FromBottom&) = delete;
  FromBottom& operator=(const FromBottom&) = delete;
  MPI_Datatype type() const { return type_; }
  static void* address() {
    static char any;
    return &any;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Ends the program, since the other ranks are in the call already.
[[gnu::cold]] void cannot_pack(size_t bytes) {
  say("this MPI cannot pack or unpack %zu bytes of a derived type at once", bytes);
  PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
}

/// How many elements go into one call of the MPI's pack.
size_t at_once(size_t count, const TypeFacts& facts) {
  const size_t fit = facts.size == 0 ? most_packed : most_packed / facts.size;
  return fit == 0 ? 1 : count < fit ? count : fit;
}

}  // namespace

void start_types() {
  const Quietly quietly;
  predefined_count = 0;
  add(MPI_BYTE, "uint8", Allowed::bits_only);
  add(MPI_CHAR, chars_are_integers() ? integer(1, CHAR_MIN < 0) : nullptr);
  add(MPI_PACKED, nullptr);
  add(MPI_WCHAR, nullptr);
  add_integer(MPI_INT, sizeof(int), true);
  add(MPI_DOUBLE, "float64");
  add(MPI_FLOAT, "float32");
  add_integer(MPI_LONG, sizeof(long), true);
  add_integer(MPI_UNSIGNED, sizeof(unsigned), false);
  add_integer(MPI_UNSIGNED_LONG, sizeof(unsigned long), false);
  add_integer(MPI_LONG_LONG, sizeof(long long), true);
  add_integer(MPI_UNSIGNED_LONG_LONG, sizeof(unsigned long long), false);
  add_integer(MPI_SHORT, sizeof(short), true);
  add_integer(MPI_UNSIGNED_SHORT, sizeof(unsigned short), false);
  add_integer(MPI_SIGNED_CHAR, 1, true);
  add_integer(MPI_UNSIGNED_CHAR, 1, false);
  add_integer(MPI_INT8_T, 1, true);
  add_integer(MPI_INT16_T, 2, true);
  add_integer(MPI_INT32_T, 4, true);
  add_integer(MPI_INT64_T, 8, true);
  add_integer(MPI_UINT8_T, 1, false);
  add_integer(MPI_UINT16_T, 2, false);
  add_integer(MPI_UINT32_T, 4, false);
  add_integer(MPI_UINT64_T, 8, false);
  add_integer(MPI_AINT, sizeof(MPI_Aint), true);
  add_integer(MPI_OFFSET, sizeof(MPI_Offset), true);
  add_integer(MPI_COUNT, sizeof(MPI_Count), true);
  add(MPI_LONG_DOUBLE, nullptr);
  add(MPI_C_BOOL, "bool8");
  add(MPI_C_FLOAT_COMPLEX, "complex64");
  add(MPI_C_DOUBLE_COMPLEX, "complex128");
  add(MPI_FLOAT_INT, "float_int");
  add(MPI_DOUBLE_INT, "double_int");
  add(MPI_LONG_INT, "long_int");
  add(MPI_2INT, "two_int");
  add(MPI_SHORT_INT, "short_int");
  add_fortran_types();
  add_halves();

  const NamedOp names[named_ops] = {{MPI_SUM, "sum"},   {MPI_PROD, "prod"},     {MPI_MIN, "min"},
                                    {MPI_MAX, "max"},   {MPI_LAND, "land"},     {MPI_BAND, "band"},
                                    {MPI_LOR, "lor"},   {MPI_BOR, "bor"},       {MPI_LXOR, "lxor"},
                                    {MPI_BXOR, "bxor"}, {MPI_MINLOC, "minloc"}, {MPI_MAXLOC, "maxloc"}};
  for (int o = 0; o < named_ops; ++o) {
    ops[o] = names[o];
    const bool on_bits = names[o].op == MPI_BAND || names[o].op == MPI_BOR || names[o].op == MPI_BXOR;
    const bool of_logic = names[o].op == MPI_LAND || names[o].op == MPI_LOR || names[o].op == MPI_LXOR;
    for (int t = 0; t < predefined_count; ++t) {
      const Allowed on = predefined[t].allowed;
      const bool allowed = predefined[t].name != nullptr &&
                           (on == Allowed::all || (on == Allowed::bits_only ? on_bits : of_logic));
      operators[t][o] = allowed ? phicoll_preload_operator(predefined[t].name, names[o].name) : nullptr;
    }
  }
  packs_plainly = packing_is_plain();
#if MPI_VERSION < 4
  make_own_comm();
#endif
}

void end_types() {
#if MPI_VERSION < 4
  PMPI_Comm_free(&own_comm);
#endif
}

bool facts_of(MPI_Datatype type, TypeFacts* facts) {
  if (const Predefined* const known = find_predefined(type)) {
    *facts = known->facts;
    return known->facts.plain || packs_plainly;
  }
  if (type == MPI_DATATYPE_NULL) return false;
  MPI_Count size = 0;
  MPI_Aint lower = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return false;
  if (PMPI_Type_get_extent(type, &lower, &facts->extent) != MPI_SUCCESS) return false;
  facts->plain = false;
  facts->size = static_cast<size_t>(size);
  return packs_plainly;
}

bool find_operator(MPI_Datatype type, MPI_Op op, Reducing* reducing) {
  const Predefined* const known = find_predefined(type);
  if (known == nullptr) return false;
  for (int o = 0; o < named_ops; ++o)
    if (ops[o].op == op) {
      const PhicollOperator* const with = operators[known - predefined][o];
      if (with != nullptr) *reducing = {type, op, with, static_cast<size_t>(known->facts.extent)};
      return with != nullptr;
    }
  return false;
}

const Reducing* OwnOperator::make(MPI_Datatype type, MPI_Op op) {
  if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP || type == MPI_DATATYPE_NULL) return nullptr;
  for (const NamedOp& named : ops)
    if (named.op == op) return nullptr;
  MPI_Count size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint first = 0;
  MPI_Aint span = 0;
  int commutes = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS ||
      PMPI_Type_get_true_extent(type, &first, &span) != MPI_SUCCESS)
    return nullptr;
  if (lower != 0 || first != 0 || extent != size || span != size) return nullptr;
  if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) return nullptr;
  made_ = phicoll_preload_own_operator(static_cast<size_t>(size), commutes, &combine, this);
  reducing_ = {type, op, made_, static_cast<size_t>(size)};
  return made_ != nullptr ? &reducing_ : nullptr;
}

// The MPI calls the program's function, since it knows the language that this is written in.
void OwnOperator::combine(void* self, void* to, const void* left, const void* right, size_t count) {
  const Reducing& own = static_cast<OwnOperator*>(self)->reducing_;
  const size_t bytes = count * own.extent;
  Scratch scratch;
  void* result = to;
  if (to == left) result = scratch.take(bytes);
  if (result != right) memmove(result, right, bytes);
  unsigned char* at = static_cast<unsigned char*>(result);
  const unsigned char* lefts = static_cast<const unsigned char*>(left);
  while (count != 0) {
    const size_t elements = count < INT_MAX ? count : INT_MAX;
    PMPI_Reduce_local(lefts, at, static_cast<int>(elements), own.type, own.op);
    lefts += elements * own.extent;
    at += elements * own.extent;
    count -= elements;
  }
  if (result != to) memcpy(to, result, bytes);
}

unsigned char* Scratch::take(size_t bytes) {
  free(memory_);
  memory_ = static_cast<unsigned char*>(malloc(bytes == 0 ? 1 : bytes));
  if (memory_ == nullptr) {
    say("no memory for %zu bytes beside a collective", bytes);
    PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  }
  return memory_;
}

void pack(unsigned char* to, const void* from, size_t count, MPI_Datatype type, const TypeFacts& facts) {
  const unsigned char* source = static_cast<const unsigned char*>(from);
  while (count != 0) {
    const size_t elements = at_once(count, facts);
    const size_t bytes = elements * facts.size;
    const bool packed = source != MPI_BOTTOM ? pack_some(source, elements, type, to, bytes)
                                             : pack_some(FromBottom::address(), 1,
                                                         FromBottom(type, elements).type(), to, bytes);
    if (!packed) cannot_pack(bytes);
    source += static_cast<MPI_Aint>(elements) * facts.extent;
    to += bytes;
    count -= elements;
  }
}

void unpack(void* to, const unsigned char* from, size_t count, MPI_Datatype type, const TypeFacts& facts) {
  unsigned char* target = static_cast<unsigned char*>(to);
  while (count != 0) {
    const size_t elements = at_once(count, facts);
    const size_t bytes = elements * facts.size;
    const bool unpacked = target != MPI_BOTTOM ? unpack_some(from, bytes, target, elements, type)
                                               : unpack_some(from, bytes, FromBottom::address(), 1,
                                                             FromBottom(type, elements).type());
    if (!unpacked) cannot_pack(bytes);
    target += static_cast<MPI_Aint>(elements) * facts.extent;
    from += bytes;
    count -= elements;
  }
}

}  // namespace phicoll_mpi
