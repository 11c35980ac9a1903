! Heat in a square plate over several ranks: halo exchange as edges, convergence by a maximum over all ranks.
!
! The plate is cut into a strip of columns for each rank, and a strip into bands. Each step is a task for each band: it reads
! three bands of the old grid and writes one of the new. The columns at the ends of a strip go to the neighbours as messages,
! and a message is an operation like any other: it reads the band it sends from, or writes the halo column that the
! neighbour's band reads next. So a band in the middle of a strip never waits for a message, and a step begins where it
! can while the one before still runs elsewhere.
!
! Every `looks` steps the largest change is reduced over all ranks, and the loop ends when it is small enough. At the end
! rank 0 gathers the plate and compares it with a plain loop on one rank, bit by bit.
!
!     mpirun -n 4 heat2d_ranks [N [STEPS [BANDS]]]
module strip
  use, intrinsic :: iso_c_binding, only: c_int32_t, c_int64_t
  use, intrinsic :: iso_fortran_env, only: real64
  use norn
  implicit none
  real(real64), parameter :: diffusion = 0.2_real64 ! below 1/4: stable
  integer :: n = 256, columns, bands = 4
  ! Column 0 and column columns + 1 are halos, or the edge of the plate; steps go from one of the two grids to the other.
  real(real64), allocatable, target :: grid(:, :, :)
  ! The largest change of the last step in each band, and in all bands of all ranks.
  real(real64), allocatable, target :: changes(:)
  real(real64), target :: largest(1)

  ! The step of one band.
  type, extends(norn_body) :: band_step
    integer :: from, band
  contains
    procedure :: run => step_band
  end type

contains

  ! First column of part k of `parts` of `all` columns, both counted from 1. Part parts + 1 begins behind the last.
  pure integer function begin_of(all, parts, k)
    integer, intent(in) :: all, parts, k
    begin_of = 1 + all / parts * (k - 1) + min(k - 1, mod(all, parts))
  end function

  ! One step of the columns of `to`; `from` has one more at each end. The same on one rank and on many, so the same
  ! bits come out.
  subroutine step_columns(from, to, change)
    real(real64), contiguous, intent(in) :: from(0:, 0:)
    real(real64), contiguous, intent(inout) :: to(0:, :)
    real(real64), intent(out) :: change
    real(real64) :: next
    integer :: i, j
    change = 0
    do j = 1, size(to, 2)
      do i = 1, size(to, 1) - 2
        next = from(i, j) + diffusion * (from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1) - 4 * from(i, j))
        change = max(change, abs(next - from(i, j)))
        to(i, j) = next
      end do
    end do
  end subroutine

  subroutine step_band(this, self, stat)
    class(band_step), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    integer :: first, last
    first = begin_of(columns, bands, this%band)
    last = begin_of(columns, bands, this%band + 1) - 1
    call step_columns(grid(:, first - 1:last + 1, this%from), grid(:, first:last, 1 - this%from), changes(this%band))
  end subroutine

  subroutine find_largest()
    largest(1) = maxval(changes)
  end subroutine

  ! The plate is hot at its first column and cold elsewhere.
  subroutine heat(plate, begins)
    real(real64), intent(out) :: plate(:, :, :)
    logical, intent(in) :: begins
    plate = 0
    if (begins) plate(:, 1, :) = 1
  end subroutine
end module

program heat2d_ranks
  use strip
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi, only: MPI_COMM_WORLD, MPI_THREAD_MULTIPLE, MPI_Comm_rank, MPI_Comm_size
  implicit none
  integer, parameter :: looks = 20
  integer(c_int64_t), parameter :: towards_first = 0, towards_last = 1 ! keys of the messages, by the way they travel
  real(real64), parameter :: tolerance = 1e-5_real64
  integer :: steps = 400, level, rank, ranks, error, done, first, g
  type(norn_config) :: config
  type(norn_runtime) :: rt
  type(norn_world) :: world
  type(norn_data), allocatable :: part(:, :), change(:) ! part(:, g): the halo, the bands, the halo
  type(norn_data) :: all

  ! Any level will do; with MPI_THREAD_FUNNELED or less, messages go on only while this thread is inside norn.
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call read_argument(1, n, ranks, "N")
  call read_argument(2, steps, 1, "STEPS")
  call read_argument(3, bands, 1, "BANDS")
  first = begin_of(n, ranks, rank + 1)
  columns = begin_of(n, ranks, rank + 2) - first
  bands = min(bands, columns)

  config%workers = 1
  config%on_failure = NORN_ON_FAILURE_ABORT ! an error anywhere ends all ranks
  call norn_open(rt, config)
  call norn_world_attach_f(rt, MPI_COMM_WORLD, world)
  call create_strip()

  largest = huge(largest)
  done = 0
  do while (done < steps .and. largest(1) > tolerance)
    do
      call submit_step(mod(done, 2))
      done = done + 1
      call exchange_halos(mod(done, 2))
      if (mod(done, looks) == 0 .or. done == steps) exit
    end do
    call find_largest_everywhere()
  end do
  call norn_drain(rt)
  call compare_with_serial(mod(done, 2))
  call norn_close(rt)
  call MPI_Finalize(error)

contains

  subroutine read_argument(position, value, least, name)
    integer, intent(in) :: position, least
    integer, intent(inout) :: value
    character(*), intent(in) :: name
    character(16) :: text
    integer :: status
    if (command_argument_count() < position) return
    call get_command_argument(position, text, status=status)
    if (status == 0) read (text, "(i16)", iostat=status) value
    if (status == 0 .and. value >= least .and. value <= 100000) return
    if (rank == 0) write (error_unit, "(4a, i0, a)") "heat2d_ranks: ", name, " is ", trim(text) // ", not a number from ", &
      least, " to 100000"
    call MPI_Finalize(error)
    stop 2
  end subroutine

  subroutine create_strip()
    integer :: b
    allocate (grid(0:n + 1, 0:columns + 1, 0:1), changes(bands), part(0:bands + 1, 0:1), change(bands))
    call heat(grid, begins=rank == 0)
    changes = 0
    do g = 0, 1
      call norn_data_register(rt, grid(:, 0, g), part(0, g))
      do b = 1, bands
        call norn_data_register(rt, grid(:, begin_of(columns, bands, b):begin_of(columns, bands, b + 1) - 1, g), part(b, g))
      end do
      call norn_data_register(rt, grid(:, columns + 1, g), part(bands + 1, g))
    end do
    do b = 1, bands
      call norn_data_register(rt, changes(b:b), change(b))
    end do
    call norn_data_register(rt, largest, all)
  end subroutine

  ! The step from grid `from` to the other one.
  subroutine submit_step(from)
    integer, intent(in) :: from
    integer :: b
    do b = 1, bands
      call norn_submit(rt, band_step(from, b), &
        accesses=[norn_read(part(b - 1:b + 1, from)), norn_write(part(b, 1 - from)), norn_write(change(b))])
    end do
  end subroutine

  ! The ends of a grid to the neighbours, and their ends to here. Where the plate ends there is nobody.
  subroutine exchange_halos(of)
    integer, intent(in) :: of
    type(norn_slice) :: last
    if (rank > 0) then
      call norn_send(world, column(part(1, of)), rank - 1, key=towards_first)
      call norn_recv(world, column(part(0, of)), rank - 1, key=towards_last)
    end if
    if (rank + 1 < ranks) then
      last = column(part(bands, of))
      last%offset = int(columns - begin_of(columns, bands, bands), c_int64_t) * (n + 2)
      call norn_send(world, last, rank + 1, key=towards_last)
      call norn_recv(world, column(part(bands + 1, of)), rank + 1, key=towards_first)
    end if
  end subroutine

  ! The first column of a datum.
  function column(data) result(slice)
    type(norn_data), intent(in) :: data
    type(norn_slice) :: slice
    slice = norn_slice_of(data, NORN_F64, int(n + 2, c_int64_t))
  end function

  ! The largest change of the last step on all ranks.
  subroutine find_largest_everywhere()
    type(norn_token) :: found
    call norn_submit_subroutine(rt, find_largest, accesses=[norn_read(change), norn_write(all)])
    call norn_allreduce(world, norn_slice_of(all, NORN_F64, 1_c_int64_t), NORN_MAX, token=found)
    call norn_await(rt, found)
  end subroutine

  ! The plate of all ranks on rank 0, and the same steps in a plain loop there.
  subroutine compare_with_serial(of)
    integer, intent(in) :: of
    real(real64), allocatable, target :: plate(:, :), alone(:, :, :)
    real(real64) :: ignored
    integer(c_int64_t) :: counts(ranks)
    integer :: k
    type(norn_token) :: gathered
    type(norn_slice) :: mine
    counts = [(int(begin_of(n, ranks, k + 1) - begin_of(n, ranks, k), c_int64_t) * (n + 2), k = 1, ranks)]
    mine = norn_slice_at(c_loc(grid(0, 1, of)), NORN_F64, counts(rank + 1))
    if (rank /= 0) then
      call norn_gather(world, 0, from=mine, counts=counts, token=gathered)
      call norn_await(rt, gathered)
      return
    end if
    allocate (plate(0:n + 1, n), alone(0:n + 1, 0:n + 1, 0:1))
    call norn_gather(world, 0, from=mine, to=norn_slice_at(c_loc(plate), NORN_F64, sum(counts)), counts=counts, token=gathered)
    call norn_await(rt, gathered)
    call heat(alone, begins=.true.)
    do k = 0, done - 1
      call step_columns(alone(:, :, mod(k, 2)), alone(:, 1:n, 1 - mod(k, 2)), ignored)
    end do
    print "(i0, a, i0, a, i0, a, i0, a, es10.3)", n, " x ", n, " points, ", ranks, " ranks: ", done, &
      " steps, last change ", largest(1)
    if (any(transfer(plate, [0_int64]) /= transfer(alone(:, 1:n, of), [0_int64]))) error stop "NOT as on one rank"
    print "(a)", "every bit as on one rank"
  end subroutine
end program
