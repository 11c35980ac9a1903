! Solves a symmetric positive definite system by tiles: one task for every BLAS or LAPACK call on a tile, ordered by norn
! through what each reads and writes. Each task is an object that knows its tiles.
!
!     OPENBLAS_NUM_THREADS=1 cholesky [order [tile]]       2048 and 128 if not given
!
! The tasks are what runs at once, so BLAS should use one thread in each.
!
! The matrix is min(i, j), whose factor is the lower triangle of ones. No operation on it rounds, so that the answer, the
! vector of ones, must be exact: one update too few or too early shows.
module tile_tasks
  use, intrinsic :: iso_fortran_env, only: real64
  use norn
  implicit none

  ! A tile is one allocation and one datum.
  type :: tile
    real(real64), allocatable :: values(:, :)
    type(norn_data) :: data
    integer :: row, col
  end type

  ! c is updated, a and b are read. norn copies the object at submit: three pointers, not the tiles.
  type, abstract, extends(norn_body) :: tile_task
    type(tile), pointer :: c => null(), a => null(), b => null()
  end type
  type, extends(tile_task) :: potrf_task ! c = its factor
  contains
    procedure :: run => run_potrf
  end type
  type, extends(tile_task) :: trsm_task ! c = c a^-T
  contains
    procedure :: run => run_trsm
  end type
  type, extends(tile_task) :: syrk_task ! c = c - a a^T
  contains
    procedure :: run => run_syrk
  end type
  type, extends(tile_task) :: gemm_task ! c = c - a b^T
  contains
    procedure :: run => run_gemm
  end type

  interface
    subroutine dpotrf(uplo, n, a, lda, info)
      import :: real64
      character, intent(in) :: uplo
      integer, intent(in) :: n, lda
      real(real64), intent(inout) :: a(lda, *)
      integer, intent(out) :: info
    end subroutine
    subroutine dtrsm(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb)
      import :: real64
      character, intent(in) :: side, uplo, transa, diag
      integer, intent(in) :: m, n, lda, ldb
      real(real64), intent(in) :: alpha, a(lda, *)
      real(real64), intent(inout) :: b(ldb, *)
    end subroutine
    subroutine dsyrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)
      import :: real64
      character, intent(in) :: uplo, trans
      integer, intent(in) :: n, k, lda, ldc
      real(real64), intent(in) :: alpha, beta, a(lda, *)
      real(real64), intent(inout) :: c(ldc, *)
    end subroutine
    subroutine dgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
      import :: real64
      character, intent(in) :: transa, transb
      integer, intent(in) :: m, n, k, lda, ldb, ldc
      real(real64), intent(in) :: alpha, beta, a(lda, *), b(ldb, *)
      real(real64), intent(inout) :: c(ldc, *)
    end subroutine
    subroutine dpotrs(uplo, n, nrhs, a, lda, b, ldb, info)
      import :: real64
      character, intent(in) :: uplo
      integer, intent(in) :: n, nrhs, lda, ldb
      real(real64), intent(in) :: a(lda, *)
      real(real64), intent(inout) :: b(ldb, *)
      integer, intent(out) :: info
    end subroutine
  end interface

contains

  subroutine run_potrf(this, self, stat)
    class(potrf_task), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    character(80) :: text
    integer :: info
    associate (c => this%c%values)
      call dpotrf("L", size(c, 1), c, size(c, 1), info)
    end associate
    if (info == 0) return
    write (text, "(a, i0, a, i0, a, i0)") "tile (", this%c%row, ", ", this%c%col, ") is not positive definite: pivot ", info
    stat = norn_self_fail(self, info, text)
  end subroutine

  subroutine run_trsm(this, self, stat)
    class(trsm_task), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    associate (c => this%c%values, a => this%a%values)
      call dtrsm("R", "L", "T", "N", size(c, 1), size(c, 2), 1d0, a, size(a, 1), c, size(c, 1))
    end associate
  end subroutine

  subroutine run_syrk(this, self, stat)
    class(syrk_task), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    associate (c => this%c%values, a => this%a%values)
      call dsyrk("L", "N", size(c, 1), size(a, 2), -1d0, a, size(a, 1), 1d0, c, size(c, 1))
    end associate
  end subroutine

  subroutine run_gemm(this, self, stat)
    class(gemm_task), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    associate (c => this%c%values, a => this%a%values, b => this%b%values)
      call dgemm("N", "T", size(c, 1), size(c, 2), size(a, 2), -1d0, a, size(a, 1), b, size(b, 1), 1d0, c, size(c, 1))
    end associate
  end subroutine
end module

program cholesky
  use tile_tasks
  implicit none
  type(norn_runtime) :: rt
  type(tile), allocatable, target :: l(:, :)
  type(norn_runtime_stats) :: stats
  real(real64), allocatable :: factor(:, :), b(:), x(:, :), r(:)
  character(200) :: why
  integer :: n, size_of_tile, tiles, i, j, k, stat

  n = argument(1, 2048)
  size_of_tile = min(argument(2, 128), n)
  tiles = (n - 1) / size_of_tile + 1
  allocate (l(tiles, tiles))

  call norn_open(rt)
  do j = 1, tiles
    do i = j, tiles
      call make(l(i, j), i, j)
      call norn_data_register(rt, l(i, j)%values, l(i, j)%data, name="tile")
    end do
  end do

  ! Right-looking: factorise a column of tiles, then take its share from all columns behind it. The accesses are all that
  ! norn is told; what brings an earlier column forward goes first.
  do k = 1, tiles
    call norn_submit(rt, potrf_task(l(k, k)), [norn_update(l(k, k)%data)], name="potrf", priority=urgency(k) + 3)
    do i = k + 1, tiles
      call norn_submit(rt, trsm_task(l(i, k), l(k, k)), [norn_update(l(i, k)%data), norn_read(l(k, k)%data)], name="trsm", &
        priority=urgency(k) + 2)
    end do
    do j = k + 1, tiles
      call norn_submit(rt, syrk_task(l(j, j), l(j, k)), [norn_update(l(j, j)%data), norn_read(l(j, k)%data)], name="syrk", &
        priority=urgency(j) + 1)
      do i = j + 1, tiles
        call norn_submit(rt, gemm_task(l(i, j), l(i, k), l(j, k)), [norn_update(l(i, j)%data), norn_read(l(i, k)%data), &
          norn_read(l(j, k)%data)], name="gemm", priority=urgency(j))
      end do
    end do
  end do
  call norn_drain(rt)
  call norn_stats(rt, stats)
  call norn_close(rt, stat, why)
  if (stat /= 0) then
    print "(2a)", "cholesky: ", trim(why)
    error stop
  end if

  ! A times the vector of ones; then x, and what is left of b.
  allocate (factor(n, n), b(n), r(n))
  do j = 1, tiles
    do i = j, tiles
      factor(begin(i):end(i), begin(j):end(j)) = l(i, j)%values
    end do
  end do
  b = [(sum([(real(min(i, j), real64), j = 1, n)]), i = 1, n)]
  x = reshape(b, [n, 1])
  call dpotrs("L", n, 1, factor, n, x, n, stat)
  r = [(b(i) - sum([(min(i, j) * x(j, 1), j = 1, n)]), i = 1, n)]
  print "(3(a, i0))", "order ", n, ", tile ", size_of_tile, ", tasks ", stats%submitted
  print "(a, es9.2)", "residual ", norm2(r) / norm2(b)

contains

  integer function begin(i)
    integer, intent(in) :: i
    begin = 1 + (i - 1) * size_of_tile
  end function

  integer function end(i)
    integer, intent(in) :: i
    end = min(i * size_of_tile, n)
  end function

  integer function urgency(col)
    integer, intent(in) :: col
    urgency = 4 * (tiles - col)
  end function

  subroutine make(t, row, col)
    type(tile), intent(inout) :: t
    integer, intent(in) :: row, col
    integer :: p, q
    t%row = row
    t%col = col
    allocate (t%values(end(row) - begin(row) + 1, end(col) - begin(col) + 1))
    do q = begin(col), end(col)
      do p = begin(row), end(row)
        t%values(p - begin(row) + 1, q - begin(col) + 1) = min(p, q)
      end do
    end do
  end subroutine

  integer function argument(place, default)
    integer, intent(in) :: place, default
    character(20) :: text
    integer :: bad
    argument = default
    if (command_argument_count() < place) return
    call get_command_argument(place, text)
    read (text, *, iostat=bad) argument
    if (bad /= 0 .or. argument < 1) error stop "cholesky [order [tile]]: numbers above 0"
  end function
end program
