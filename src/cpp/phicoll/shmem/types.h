/* The types that OpenSHMEM's functions exist for: X(name, type) for each. Declarations, definitions, generic names and
 * tests all follow from these lists (OpenSHMEM 1.5, tables 3, 5, 6, 7, 8 and 9; 1.6 has the same). */
#ifndef PHICOLL_SHMEM_TYPES_H
#define PHICOLL_SHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* As C's, in C++ too: std::complex has the same layout. */
__extension__ typedef double _Complex phicoll_shmem_complexd;
__extension__ typedef float _Complex phicoll_shmem_complexf;

/* clang-format off */
/* Each list has two parts: types that differ from each other, which C11's _Generic and C++'s overloads can tell apart,
 * and names of such types. */

/* Standard RMA types. */
#define PHICOLL_SHMEM_RMA_DISTINCT(X) \
  X(float, float)                     \
  X(double, double)                   \
  X(longdouble, long double)          \
  X(char, char)                       \
  X(schar, signed char)               \
  X(short, short)                     \
  X(int, int)                         \
  X(long, long)                       \
  X(longlong, long long)              \
  X(uchar, unsigned char)             \
  X(ushort, unsigned short)           \
  X(uint, unsigned int)               \
  X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long)
#define PHICOLL_SHMEM_EXACT_SMALL(X) X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define PHICOLL_SHMEM_EXACT_LARGE(X) \
  X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define PHICOLL_SHMEM_RMA_TYPES(X) \
  PHICOLL_SHMEM_RMA_DISTINCT(X)    \
  PHICOLL_SHMEM_EXACT_SMALL(X) PHICOLL_SHMEM_EXACT_LARGE(X) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Sizes in bits of functions without a type, with the bytes of an element. */
#define PHICOLL_SHMEM_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

/* Standard AMO types. */
#define PHICOLL_SHMEM_AMO_DISTINCT(X) \
  X(int, int)                         \
  X(long, long)                       \
  X(longlong, long long)              \
  X(uint, unsigned int)               \
  X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long)
#define PHICOLL_SHMEM_AMO_TYPES(X) \
  PHICOLL_SHMEM_AMO_DISTINCT(X) PHICOLL_SHMEM_EXACT_LARGE(X) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Extended AMO types: fetch, set and swap. */
#define PHICOLL_SHMEM_EXTENDED_DISTINCT(X) PHICOLL_SHMEM_AMO_DISTINCT(X) X(float, float) X(double, double)
#define PHICOLL_SHMEM_EXTENDED_TYPES(X) PHICOLL_SHMEM_AMO_TYPES(X) X(float, float) X(double, double)

/* Bitwise AMO types. On all our platforms int32_t is int and int64_t is long. */
#define PHICOLL_SHMEM_BITWISE_DISTINCT(X) \
  X(int32, int)                           \
  X(int64, long)                          \
  X(uint, unsigned int)                   \
  X(ulong, unsigned long)                 \
  X(ulonglong, unsigned long long)
#define PHICOLL_SHMEM_BITWISE_TYPES(X) \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) PHICOLL_SHMEM_EXACT_LARGE(X)

/* Point-to-point synchronization types. */
#define PHICOLL_SHMEM_WAIT_DISTINCT(X) X(short, short) X(ushort, unsigned short) PHICOLL_SHMEM_AMO_DISTINCT(X)
#define PHICOLL_SHMEM_WAIT_TYPES(X) X(short, short) X(ushort, unsigned short) PHICOLL_SHMEM_AMO_TYPES(X)
/* shmem_<type>_wait, deprecated in 1.4. */
#define PHICOLL_SHMEM_OLD_WAIT_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)

/* Reductions: and, or, xor. The signed standard types are here for the functions on active sets alone. */
#define PHICOLL_SHMEM_BITS_DISTINCT(X) \
  X(uchar, unsigned char)              \
  X(ushort, unsigned short)            \
  X(uint, unsigned int)                \
  X(ulong, unsigned long)              \
  X(ulonglong, unsigned long long)     \
  X(int8, signed char)                 \
  X(int16, short)                      \
  X(int32, int)                        \
  X(int64, long)
#define PHICOLL_SHMEM_BITS_TYPES(X) \
  X(uchar, unsigned char)           \
  X(ushort, unsigned short)         \
  X(uint, unsigned int)             \
  X(ulong, unsigned long)           \
  X(ulonglong, unsigned long long)  \
  PHICOLL_SHMEM_EXACT_SMALL(X)      \
  PHICOLL_SHMEM_EXACT_LARGE(X)      \
  X(size, size_t)                   \
  PHICOLL_SHMEM_OLD_WAIT_TYPES(X)
/* max, min. */
#define PHICOLL_SHMEM_ORDER_DISTINCT(X) PHICOLL_SHMEM_RMA_DISTINCT(X)
#define PHICOLL_SHMEM_ORDER_TYPES(X) PHICOLL_SHMEM_RMA_TYPES(X)
/* sum, prod; inscan and exscan of sums. */
#define PHICOLL_SHMEM_SUM_DISTINCT(X) \
  PHICOLL_SHMEM_RMA_DISTINCT(X) X(complexd, phicoll_shmem_complexd) X(complexf, phicoll_shmem_complexf)
#define PHICOLL_SHMEM_SUM_TYPES(X) \
  PHICOLL_SHMEM_RMA_TYPES(X) X(complexd, phicoll_shmem_complexd) X(complexf, phicoll_shmem_complexf)

/* Reductions on active sets, deprecated in 1.5. */
#define PHICOLL_SHMEM_OLD_BITS_TYPES(X) PHICOLL_SHMEM_OLD_WAIT_TYPES(X)
#define PHICOLL_SHMEM_OLD_ORDER_TYPES(X) \
  PHICOLL_SHMEM_OLD_WAIT_TYPES(X) X(float, float) X(double, double) X(longdouble, long double)
#define PHICOLL_SHMEM_OLD_SUM_TYPES(X) \
  PHICOLL_SHMEM_OLD_ORDER_TYPES(X) X(complexd, phicoll_shmem_complexd) X(complexf, phicoll_shmem_complexf)

/* clang-format on */
#endif
