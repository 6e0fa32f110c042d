// Every intercepted collective beside the MPI's own: MPI_X, which a preloaded library may have, and PMPI_X
// get the same arguments, and must leave the same bytes (sums and products of floats: values within
// rounding). Prints "compared N calls"; the first difference is printed and ends the program with status 1.

#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static int rank, size;
static long compared;
static unsigned state = 1;

static unsigned next(void) {
  return state = state * 1664525u + 1013904223u;
}

// Both results lie in buffers with the same bytes around them.
enum { margin = 64 };

static void differ(const char* what, int count, const char* type, const char* op) {
  int world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  printf("rank %d of %d (world %d): %s of %d %s %s differs\n", rank, size, world, what, count, type, op);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct {
  MPI_Datatype type;
  const char* name;
  enum {
    integers,
    floats,
    doubles,
    bools,
    complexes,
    pairs_float,
    pairs_double,
    pairs_int,
    pairs_long,
    pairs_short
  } kind;
  int bytes;
} Type;

typedef struct {
  MPI_Op op;
  const char* name;
  enum { arithmetic, order, logic, bits, location } kind;
} Op;

static const Op* ops(int* count) {
  static Op all[12];
  const Op rows[12] = {
      {MPI_SUM, "sum", arithmetic}, {MPI_PROD, "prod", arithmetic},   {MPI_MIN, "min", order},
      {MPI_MAX, "max", order},      {MPI_LAND, "land", logic},        {MPI_LOR, "lor", logic},
      {MPI_LXOR, "lxor", logic},    {MPI_BAND, "band", bits},         {MPI_BOR, "bor", bits},
      {MPI_BXOR, "bxor", bits},     {MPI_MINLOC, "minloc", location}, {MPI_MAXLOC, "maxloc", location}};
  memcpy(all, rows, sizeof rows);
  *count = 12;
  return all;
}

static const Type* types(int* count) {
  static Type all[24];
  const Type rows[] = {{MPI_INT, "int", integers, sizeof(int)},
                       {MPI_LONG, "long", integers, sizeof(long)},
                       {MPI_UNSIGNED, "unsigned", integers, sizeof(unsigned)},
                       {MPI_UNSIGNED_LONG, "unsigned long", integers, sizeof(long)},
                       {MPI_SHORT, "short", integers, sizeof(short)},
                       {MPI_UNSIGNED_SHORT, "unsigned short", integers, sizeof(short)},
                       {MPI_CHAR, "char", integers, 1},
                       {MPI_SIGNED_CHAR, "signed char", integers, 1},
                       {MPI_UNSIGNED_CHAR, "unsigned char", integers, 1},
                       {MPI_INT64_T, "int64_t", integers, 8},
                       {MPI_UINT8_T, "uint8_t", integers, 1},
                       {MPI_LONG_LONG, "long long", integers, 8},
                       {MPI_FLOAT, "float", floats, 4},
                       {MPI_DOUBLE, "double", doubles, 8},
                       {MPI_C_BOOL, "bool", bools, 1},
                       {MPI_C_DOUBLE_COMPLEX, "double complex", complexes, 16},
                       {MPI_FLOAT_INT, "float_int", pairs_float, 8},
                       {MPI_DOUBLE_INT, "double_int", pairs_double, 16},
                       {MPI_2INT, "2int", pairs_int, 8},
                       {MPI_LONG_INT, "long_int", pairs_long, 16},
                       {MPI_SHORT_INT, "short_int", pairs_short, 8}};
  *count = sizeof rows / sizeof rows[0];
  memcpy(all, rows, sizeof rows);
  return all;
}

static int allowed(const Type* type, const Op* op) {
  switch (type->kind) {
    case integers:
      return op->kind != location;
    case floats:
    case doubles:
      return op->kind == arithmetic || op->kind == order;
    case bools:
      return op->kind == logic;
    case complexes:
      return op->kind == arithmetic;
    default:
      return op->kind == location;
  }
}

/// Values whose sums and products stay small, in the type's own representation.
static void fill(unsigned char* at, const Type* type, int count) {
  memset(at, 0, (size_t)count * (size_t)type->bytes);
  for (int i = 0; i < count; ++i) {
    unsigned char* const to = at + (size_t)i * (size_t)type->bytes;
    const int v = (int)(next() >> 16) % 5 - 1;
    const float f = (float)v + 0.25f;
    const double d = v + 0.125;
    const short h = (short)v;
    const long l = v;
    const int where = (int)(next() >> 16) % 7;
    const double complex z = d + 0.5 * I;
    switch (type->kind) {
      case integers:
        // Open MPI's sums of short integers stay at the largest value where phicoll's and MPICH's wrap
        // around.
        if (type->bytes < 4) {
          memcpy(to, (next() >> 16) % 2 == 0 ? "\1\0" : "\0\0", (size_t)type->bytes);
        } else {
          for (int b = 0; b < type->bytes; ++b) to[b] = (unsigned char)(next() >> 16);
        }
        break;
      case floats:
        memcpy(to, &f, 4);
        break;
      case doubles:
        memcpy(to, &d, 8);
        break;
      case bools:
        *to = (next() >> 16) % 2;
        break;
      case complexes:
        memcpy(to, &z, 16);
        break;
      case pairs_float:
        memcpy(to, &f, 4), memcpy(to + 4, &where, 4);
        break;
      case pairs_double:
        memcpy(to, &d, 8), memcpy(to + 8, &where, 4);
        break;
      case pairs_int:
        memcpy(to, &v, 4), memcpy(to + 4, &where, 4);
        break;
      case pairs_long:
        memcpy(to, &l, 8), memcpy(to + 8, &where, 4);
        break;
      case pairs_short:
        memcpy(to, &h, 2), memcpy(to + 4, &where, 4);
        break;
    }
  }
}

static int near(double a, double b) {
  return fabs(a - b) <= 1e-5 * (1 + fabs(a) + fabs(b));
}

/// The same, but for rounding, and for the padding of a pair.
static int same(const unsigned char* a, const unsigned char* b, const Type* type, int count) {
  for (int i = 0; i < count; ++i, a += type->bytes, b += type->bytes) {
    float f[2];
    double d[4];
    switch (type->kind) {
      case floats:
        memcpy(f, a, 4), memcpy(f + 1, b, 4);
        if (!near(f[0], f[1])) return 0;
        break;
      case doubles:
        memcpy(d, a, 8), memcpy(d + 1, b, 8);
        if (!near(d[0], d[1])) return 0;
        break;
      case complexes:
        memcpy(d, a, 16), memcpy(d + 2, b, 16);
        if (!near(d[0], d[2]) || !near(d[1], d[3])) return 0;
        break;
      case pairs_double:
      case pairs_long:
        if (memcmp(a, b, 12) != 0) return 0;
        break;
      case pairs_short:
        if (memcmp(a, b, 2) != 0 || memcmp(a + 4, b + 4, 4) != 0) return 0;
        break;
      default:
        if (memcmp(a, b, (size_t)type->bytes) != 0) return 0;
    }
  }
  return 1;
}

static unsigned char *in, *out, *out2;  // what is sent, and what two calls leave
static size_t end_of_out;               // what lies after it must stay

static void check(const char* what, int ok1, int ok2, const Type* type, int count, const Op* op) {
  ++compared;
  if (ok1 != MPI_SUCCESS || ok1 != ok2 || !same(out, out2, type, count))
    differ(what, count, type->name, op != NULL ? op->name : "");
  for (int i = 0; i < margin; ++i)
    if (out[end_of_out + (size_t)i] != 0xa5) differ("what follows the result", count, type->name, what);
}

/// What lies in the memory of a result before the call: what is sent, where the call is in place, or nothing.
typedef enum { empty, filled } Before;

static void prepare(const Type* type, int received, int sent, Before before) {
  const size_t bytes = (size_t)received * (size_t)type->bytes;
  end_of_out = bytes;
  fill(in, type, sent);
  if (before == filled)
    memcpy(out, in, bytes);
  else
    memset(out, 0x5a, bytes);
  memset(out + bytes, 0xa5, margin);
  memcpy(out2, out, bytes + margin);
}

#define JOINED(name, suffix) name##suffix
#define WITH_SUFFIX(name, suffix) JOINED(name, suffix)
/// Sends `sent` elements with both calls, whose results, of `received` elements, are `result` in their
/// arguments. Of these `checked` must be the same.
#define COMPARE(name, before, type, received, sent, checked, op, ...)                 \
  do {                                                                                \
    prepare(type, received, sent, before);                                            \
    unsigned char* result = out;                                                      \
    const int one = WITH_SUFFIX(MPI_##name, SUFFIX)(__VA_ARGS__);                     \
    result = out2;                                                                    \
    const int two = WITH_SUFFIX(PMPI_##name, SUFFIX)(__VA_ARGS__);                    \
    check(before == filled ? #name " in place" : #name, one, two, type, checked, op); \
  } while (0)

#define SUFFIX
#define COUNT int
#define DISPLACEMENT int
#include "compare_calls.inc"
#if MPI_VERSION >= 4  // large counts
#undef SUFFIX
#undef COUNT
#undef DISPLACEMENT
#define SUFFIX _c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#include "compare_calls.inc"
#else
#define compare_reductions_c compare_reductions
#define compare_moves_c compare_moves
#endif

/// The calls with large counts are tried with every third set of arguments, as much of the code is shared.
static int with_large_counts(void) {
  static int turn;
  return MPI_VERSION >= 4 && ++turn % 3 == 1;
}

static void reductions(const Type* type, const Op* op, int count) {
  compare_reductions(type, op, count);
  if (with_large_counts()) compare_reductions_c(type, op, count);
}

static void moves(const char* name, MPI_Datatype send, MPI_Datatype receive, int per, int count, int gap) {
  compare_moves(name, send, receive, per, count, gap);
  if (with_large_counts()) compare_moves_c(name, send, receive, per, count, gap);
}

/// No rank leaves a barrier before all have entered it, in a program that checks by messages.
static void barriers(void) {
  for (int turn = 0; turn < 20; ++turn) {
    const int token = turn;
    int got = 0;
    MPI_Request request;
    MPI_Isend(&token, 1, MPI_INT, (rank + 1) % size, turn, comm, &request);
    MPI_Barrier(comm);
    int flag = 0;  // sent before the barrier by the rank before
    for (int tries = 0; !flag && tries < 100000; ++tries)
      MPI_Iprobe((rank + size - 1) % size, turn, comm, &flag, MPI_STATUS_IGNORE);
    if (!flag) differ("Barrier", turn, "", "");
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, turn, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++compared;
  }
}

/// Products of 2 x 2 matrices, whose order matters.
static void multiply(void* left, void* both, int* count, MPI_Datatype* type) {
  const unsigned* a = left;
  unsigned* b = both;
  (void)type;
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    const unsigned c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                           a[2] * b[1] + a[3] * b[3]};
    memcpy(b, c, sizeof c);
  }
}

static void add(void* left, void* both, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)both)[i] += ((int*)left)[i];
}

/// Operators of the program's own: on a type of its own, in rank order; and on a predefined one.
static void own_operators(int largest) {
  Type matrix = {MPI_DATATYPE_NULL, "matrix", integers, 16};
  const Type number = {MPI_INT, "int", integers, 4};
  Op product = {MPI_OP_NULL, "own product", arithmetic}, sum = {MPI_OP_NULL, "own sum", arithmetic};
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix.type);
  MPI_Type_commit(&matrix.type);
  MPI_Op_create(multiply, 0, &product.op);
  MPI_Op_create(add, 1, &sum.op);
  for (int count = 0; count * 16 <= largest && count < 5000; count = count * 3 + 1) {
    reductions(&matrix, &product, count);
    reductions(&number, &sum, count);
  }
  MPI_Op_free(&product.op);
  MPI_Op_free(&sum.op);
  MPI_Type_free(&matrix.type);
}

static void everything(MPI_Comm of, int largest) {
  comm = of;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  state = 12345u + (unsigned)rank * 7919u;
  const size_t room = (size_t)largest * 4 * (size_t)(size + 2) * 4 + 4096;
  in = malloc(room), out = malloc(room), out2 = malloc(room);
  if (in == NULL || out == NULL || out2 == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  barriers();
  int type_count, op_count;
  const Type* const all_types = types(&type_count);
  const Op* const all_ops = ops(&op_count);
  const int counts[] = {0, 1, 3, 17, 1024, 16384};
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < op_count; ++o)
      for (int c = 0; c < 6; ++c) {
        const int bytes = counts[c] * all_types[t].bytes;
        if (!allowed(&all_types[t], &all_ops[o]) || bytes > largest) continue;
        if (counts[c] > 17 && (t + o + c) % 5 != 0) continue;  // a sample
        reductions(&all_types[t], &all_ops[o], counts[c]);
      }
  own_operators(largest);
  MPI_Datatype contiguous, gapped, swapped;
  MPI_Type_contiguous(4, MPI_INT, &contiguous);
  MPI_Type_commit(&contiguous);
  MPI_Datatype vector;
  MPI_Type_vector(2, 2, 3, MPI_INT, &vector);  // ints 0 1 3 4
  MPI_Type_create_resized(vector, 0, 6 * 4, &gapped);
  MPI_Type_commit(&gapped);
  const int lengths[] = {2, 2}, places[] = {2, 0};  // ints 2 3 0 1
  MPI_Type_indexed(2, lengths, places, MPI_INT, &swapped);
  MPI_Type_commit(&swapped);
  const int blocks[] = {0, 1, 5, 100, 4096};
  for (int c = 0; c < 5; ++c) {
    const int n = blocks[c];
    if (n * 16 * 2 > largest) continue;
    moves("int", MPI_INT, MPI_INT, 1, n, 0);
    moves("contiguous", contiguous, contiguous, 4, n, 0);
    moves("swapped", swapped, contiguous, 4, n, 0);
    moves("gapped", gapped, gapped, 4, n, 2);
    moves("double", MPI_DOUBLE, MPI_DOUBLE, 2, n, 0);
    moves("byte", MPI_UNSIGNED_CHAR, MPI_UNSIGNED_CHAR, 1, n, 0);
    // Ranks whose types differ, with the same signature.
    moves("mixed", rank % 2 == 0 ? contiguous : swapped, rank % 2 == 0 ? swapped : contiguous, 4, n, 0);
  }
  MPI_Type_free(&contiguous);
  MPI_Type_free(&vector);
  MPI_Type_free(&gapped);
  MPI_Type_free(&swapped);
  free(in), free(out), free(out2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int largest = argc > 1 ? atoi(argv[1]) : 1 << 18;
  int me, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  everything(MPI_COMM_WORLD, largest);
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &other);  // reversed halves
  everything(other, 4096);
  MPI_Comm_free(&other);
  for (int turn = 0; turn < 100; ++turn) {  // made and freed, with the same handle perhaps
    int sum = 0;
    if (turn % 2 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &other);
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &other);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, other);
    int first = me;
    MPI_Bcast(&first, 1, MPI_INT, 0, other);
    if (sum != all * (all - 1) / 2 || first != (turn % 2 == 0 ? 0 : all - 1))
      differ("a new communicator", turn, "", "");
    MPI_Comm_free(&other);
    ++compared;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) printf("compared %ld calls\n", compared);
  MPI_Finalize();
  return 0;
}
