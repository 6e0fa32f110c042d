! Every intercepted collective from Fortran: by mpif.h, or by the module mpi or mpi_f08 (BY_MODULE, BY_F08), with Fortran's types,
! MPI_IN_PLACE and MPI_BOTTOM. Prints "right"; a wrong result ends the program with status 1.

#ifdef BY_F08
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#else
#define DATATYPE integer
#define OPERATION integer
#endif

module checks
#ifdef BY_F08
  use mpi_f08
#endif
#ifdef BY_MODULE
  use mpi
#endif
  implicit none
#ifdef BY_HEADER
  include 'mpif.h'
#endif
  integer :: rank, size, ierror
contains
  subroutine expect(got, wanted, call)
    integer, intent(in) :: got, wanted
    character(*), intent(in) :: call
    integer :: ignored
    if (got == wanted) return
    print '(a,i0,2a,2(a,i0))', 'rank ', rank, ': ', call, ': ', got, ', not ', wanted
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine

#ifdef BY_F08
  subroutine times(given, kept, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: given, kept
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(given, from, [length])
    call c_f_pointer(kept, to, [length])
    to = to * from
  end subroutine
#else
  subroutine times(given, kept, length, datatype)
    integer :: length, datatype
    integer :: given(length), kept(length)
    kept = kept * given
  end subroutine
#endif
end module

program fortran
  use checks
  implicit none
  integer :: turn, r, total, provided
  integer, allocatable :: sent(:), got(:), counts(:), starts(:), back(:)
  integer(8) :: long
  real :: single
  double precision :: double
  complex :: pair
  logical :: all_true, any_true, odd_true
  integer :: where(2)
  character(4) :: word
  integer(MPI_ADDRESS_KIND) :: address(1)
  DATATYPE :: here
  OPERATION :: own

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call expect(ierror, MPI_SUCCESS, 'init_thread')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  total = size * (size + 1) / 2
  allocate (sent(size), got(size), counts(size), starts(size), back(size))
  call MPI_Op_create(times, .true., own, ierror)
  call MPI_Get_address(got, address(1), ierror)
  call MPI_Type_create_hindexed(1, [size], address, MPI_INTEGER, here, ierror)
  call MPI_Type_commit(here, ierror)

  do turn = 1, 5
    ierror = -1
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call expect(ierror, MPI_SUCCESS, 'barrier')
    ! Reductions of Fortran's types.
    got(1) = -1
    ierror = -1
    call MPI_Allreduce(rank + 1, got(1), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(ierror, MPI_SUCCESS, 'allreduce')
    call expect(got(1), total, 'allreduce of an integer')
    got = rank + turn
    call MPI_Allreduce(MPI_IN_PLACE, got, size, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    do r = 1, size
      call expect(got(r), size - 1 + turn, 'allreduce in place')
    end do
    long = rank + 2_8**40
    call MPI_Allreduce(MPI_IN_PLACE, long, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierror)
    call expect(int(long - 2_8**40), size - 1, 'allreduce of integer(8)')
    single = rank + 0.5
    call MPI_Allreduce(MPI_IN_PLACE, single, 1, MPI_REAL, MPI_MIN, MPI_COMM_WORLD, ierror)
    call expect(nint(2 * single), 1, 'allreduce of a real')
    double = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, double, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(nint(double), total, 'allreduce of double precision')
    pair = cmplx(rank + 1, -rank - 1)
    call MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(nint(real(pair) - 2 * aimag(pair)), 3 * total, 'allreduce of a complex')
    call MPI_Allreduce(rank == 0, any_true, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(rank == 0, all_true, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(rank == 0, odd_true, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierror)
    call expect(merge(1, 0, any_true .and. odd_true .and. (.not. all_true)), 1, 'allreduce of logicals')
    where = [mod(rank + turn, size), rank]
    call MPI_Allreduce(MPI_IN_PLACE, where, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    call expect(mod(where(2) + turn, size), size - 1, 'allreduce of 2integer')
    got(1) = 2
    call MPI_Allreduce(MPI_IN_PLACE, got(1), 1, MPI_INTEGER, own, MPI_COMM_WORLD, ierror)
    call expect(got(1), 2**size, 'allreduce by an own operator')
    got(1) = rank + 1
    if (rank == size - 1) then
      call MPI_Reduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, size - 1, MPI_COMM_WORLD, ierror)
      call expect(got(1), total, 'reduce in place')
    else
      call MPI_Reduce(rank + 1, got, 1, MPI_INTEGER, MPI_SUM, size - 1, MPI_COMM_WORLD, ierror)
    end if
    got(1) = rank + 1
    call MPI_Scan(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(got(1), (rank + 1) * (rank + 2) / 2, 'scan in place')
    got(1) = 0
    call MPI_Exscan(rank + 1, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank > 0) call expect(got(1), rank * (rank + 1) / 2, 'exscan')
    sent = [(rank + r, r = 1, size)]
    call MPI_Reduce_scatter_block(sent, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(got(1), size * (rank + 1) + total - size, 'reduce_scatter_block')
    counts = 1
    call MPI_Reduce_scatter(sent, got, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(got(1), size * (rank + 1) + total - size, 'reduce_scatter')

    ! Data, from and to addresses too.
    word = merge('yes!', '    ', rank == size - 1)
    call MPI_Bcast(word, 4, MPI_CHARACTER, size - 1, MPI_COMM_WORLD, ierror)
    call expect(merge(1, 0, word == 'yes!'), 1, 'bcast of characters')
    got = merge(turn, -1, rank == 0)
    call MPI_Bcast(MPI_BOTTOM, 1, here, 0, MPI_COMM_WORLD, ierror)
    do r = 1, size
      call expect(got(r), turn, 'bcast from MPI_BOTTOM')
    end do
    got = rank + 10
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      do r = 1, size
        call expect(got(r), r + 9, 'gather in place')
      end do
      call MPI_Scatter(got, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Gather(got, 1, MPI_INTEGER, sent, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      got(1) = -1
      call MPI_Scatter(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call expect(got(1), rank + 10, 'scatter')
    end if
    got = rank
    call MPI_Allgather(MPI_IN_PLACE, 1, MPI_INTEGER, got, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    sent = [(10 * rank + r, r = 1, size)]
    call MPI_Alltoall(sent, 1, MPI_INTEGER, back, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    do r = 1, size
      call expect(got(r), r - 1, 'allgather in place')
      call expect(back(r), 10 * (r - 1) + rank + 1, 'alltoall')
    end do
    starts = [(size - r, r = 1, size)]
    counts = 1
    call MPI_Alltoallv(sent, counts, starts, MPI_INTEGER, back, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    do r = 1, size
      call expect(back(r), 10 * (size - r) + size - rank, 'alltoallv')
    end do
    call MPI_Allgatherv(rank, 1, MPI_INTEGER, got, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Gatherv(rank, 1, MPI_INTEGER, back, counts, starts, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierror)
    do r = 1, size
      call expect(got(r), size - r, 'allgatherv')
      if (rank == size - 1) call expect(back(r), size - r, 'gatherv')
    end do
    call MPI_Scatterv(got, counts, starts, MPI_INTEGER, back, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call expect(back(1), rank, 'scatterv')
    call expect(ierror, MPI_SUCCESS, 'scatterv')
  end do
  call MPI_Type_free(here, ierror)
  call MPI_Op_free(own, ierror)
  if (rank == 0) print '(a)', 'right'
  call MPI_Finalize(ierror)
  call expect(ierror, MPI_SUCCESS, 'finalize')
end program
