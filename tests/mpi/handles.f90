! Fortran's handles of communicators, from module mpi, from mpi_f08 and from mpif.h, are what norn_world_attach_f takes.
! FLAVOUR is 1 (mpi), 2 (mpi_f08) or 3 (mpif.h).
module norn_calls
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int32_t) function open_version(version, config, rt) bind(c, name="norn_open_version")
      import
      integer(c_int32_t), value :: version
      type(c_ptr), value :: config
      type(c_ptr), intent(out) :: rt
    end function
    integer(c_int32_t) function attach(rt, comm, config, world) bind(c, name="norn_world_attach_f")
      import
      type(c_ptr), value :: rt, config
      integer(c_int32_t), value :: comm
      type(c_ptr), intent(out) :: world
    end function
    integer(c_int32_t) function rank_and_size(world, rank, size) bind(c)
      import
      type(c_ptr), value :: world
      integer(c_int32_t), intent(out) :: rank, size
    end function
    integer(c_int32_t) function detach(world, timeout) bind(c, name="norn_world_detach")
      import
      type(c_ptr), value :: world
      integer(c_int64_t), value :: timeout
    end function
    integer(c_int32_t) function close_runtime(rt) bind(c, name="norn_close")
      import
      type(c_ptr), value :: rt
    end function
  end interface
end module

program handles
  use norn_calls
#if FLAVOUR == 1
  use mpi
#elif FLAVOUR == 2
  use mpi_f08
#endif
  implicit none
#if FLAVOUR == 3
  include 'mpif.h'
#endif
#if FLAVOUR == 2
  type(MPI_Comm) :: half
#define HANDLE(comm) comm%MPI_VAL
#else
  integer :: half
#define HANDLE(comm) comm
#endif
  type(c_ptr) :: rt
  integer :: ierror, rank
  call MPI_Init(ierror)
  call must(open_version(1000, c_null_ptr, rt), "open")
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierror)
  call try(HANDLE(MPI_COMM_WORLD), "MPI_COMM_WORLD")
  call try(HANDLE(MPI_COMM_SELF), "MPI_COMM_SELF")
  call try(HANDLE(half), "a split communicator")
  call must(close_runtime(rt), "close")
  call MPI_Comm_free(half, ierror)
  call MPI_Finalize(ierror)

contains

  subroutine must(status, what)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: what
    if (status /= 0) then
      print *, what, status
      error stop 1
    end if
  end subroutine

  subroutine try(comm, what)
    integer, intent(in) :: comm
    character(*), intent(in) :: what
    type(c_ptr) :: world
    integer(c_int32_t) :: rank, size
    integer :: right_rank, right_size
#if FLAVOUR == 2
    type(MPI_Comm) :: again
    again%MPI_VAL = comm
#else
    integer :: again
    again = comm
#endif
    call MPI_Comm_rank(again, right_rank, ierror)
    call MPI_Comm_size(again, right_size, ierror)
    call must(attach(rt, comm, c_null_ptr, world), what)
    call must(rank_and_size(world, rank, size), what)
    call must(detach(world, -1_c_int64_t), what)
    if (rank /= right_rank .or. size /= right_size) then
      print *, what, rank, size, right_rank, right_size
      error stop 1
    end if
  end subroutine
end program
