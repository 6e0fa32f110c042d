// A broadcast and allgathers of derived types of more than 2 GB, with gaps, as one element and as several.
// Takes 9 GB for two ranks. No call may duplicate MPI_COMM_SELF, whose attributes the program would hear of.
// Prints "right"; a wrong element ends the program with status 1.

#include "expect.h"

enum { in_block = 1020, stride = 1024 };  // longs

static long* data;

/// `blocks` of 1020 longs, with gaps of four.
static MPI_Datatype with_gaps(long blocks) {
  MPI_Datatype vector, type;
  MPI_Type_vector((int)blocks, in_block, stride, MPI_LONG, &vector);
  MPI_Type_create_resized(vector, 0, blocks * stride * 8, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&vector);
  return type;
}

static void fill(long blocks, long value) {
  for (long b = 0; b < blocks; ++b)
    for (long i = 0; i < stride; ++i) data[b * stride + i] = i < in_block ? value + b + i : -7;
}

static void expect_blocks(const long* at, long blocks, long value, const char* call) {
  for (long b = 0; b < blocks; ++b)
    for (long i = 0; i < stride; ++i)
      expect(at[b * stride + i], i >= in_block ? -7 : value + b + i, call, b * stride + i);
}

static void clear(long from, long blocks) {
  for (long i = from * stride; i < (from + blocks) * stride; ++i) data[i] = -7;
}

static int duplicated(MPI_Comm of, int key, void* extra, void* attribute, void* copy, int* is_copied) {
  (void)of, (void)key, (void)extra, (void)attribute, (void)copy;
  printf("rank %d: MPI_COMM_SELF was duplicated\n", rank);
  *is_copied = 0;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int key;
  MPI_Comm_create_keyval(duplicated, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  const long blocks = 272000;  // 2.2 GB
  data = malloc((size_t)blocks * stride * 8);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Datatype one = with_gaps(blocks), half = with_gaps(blocks / size), small = with_gaps(blocks / 34);

  if (rank == 1)
    fill(blocks, 5);
  else
    clear(0, blocks);
  MPI_Bcast(data, 1, one, 1, MPI_COMM_WORLD);
  expect_blocks(data, blocks, 5, "broadcast of one element");

  clear(0, blocks);
  if (rank == 0) fill(blocks, 9);
  MPI_Bcast(data, 34, small, 0, MPI_COMM_WORLD);
  expect_blocks(data, blocks, 9, "broadcast of 34 elements");

  clear(0, blocks);
  if (rank == 0) fill(blocks, 11);
  int counts[64] = {1}, starts[64] = {0};
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_LONG, data, counts, starts, one, MPI_COMM_WORLD);
  expect_blocks(data, blocks, 11, "allgatherv of one element");

  const long own = blocks / size;
  clear(0, blocks);
  long* const at = data + rank * own * stride;
  for (long b = 0; b < own; ++b)
    for (long i = 0; i < in_block; ++i) at[b * stride + i] = rank + b + i;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_LONG, data, 1, half, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) expect_blocks(data + r * own * stride, own, r, "allgather");

  MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  MPI_Comm_free_keyval(&key);
  if (rank == 0) printf("right\n");
  MPI_Type_free(&one), MPI_Type_free(&half), MPI_Type_free(&small);
  free(data);
  MPI_Finalize();
  return 0;
}
