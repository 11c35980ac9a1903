! Heat in a plate, the way such codes are: a module of kernels over allocatable arrays, and a time loop.
! heat2d.f90 is the same program with norn; `diff heat2d_before.f90 heat2d.f90` shows what that took.
module heat
  implicit none
  integer, parameter :: nx = 512, ny = 512, blocks = 8, steps = 200
  real(8), parameter :: alpha = 0.2d0
  real(8), allocatable :: u(:, :), unew(:, :)
contains
  ! Columns of a block; 0 and blocks + 1 are the two edges of the plate.
  integer function first(block)
    integer, intent(in) :: block
    first = 1 + (block - 1) * ny / blocks
    if (block == 0) first = 0
  end function

  integer function last(block)
    integer, intent(in) :: block
    last = block * ny / blocks
    if (block == blocks + 1) last = ny + 1
  end function

  subroutine start(block)
    integer, intent(in) :: block
    integer :: i, j
    do j = first(block), last(block)
      do i = 0, nx + 1
        u(i, j) = merge(100d0, 0d0, i == 0) + 1d-3 * mod(7 * i + 13 * j, 17)
      end do
    end do
  end subroutine

  subroutine relax(block)
    integer, intent(in) :: block
    integer :: i, j
    do j = first(block), last(block)
      do i = 1, nx
        unew(i, j) = u(i, j) + alpha * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j))
      end do
    end do
  end subroutine

  subroutine advance(block)
    integer, intent(in) :: block
    integer :: j
    do j = first(block), last(block)
      u(1:nx, j) = unew(1:nx, j)
    end do
  end subroutine
end module

program heat2d
  use heat
  implicit none
  integer :: b, step

  allocate (u(0:nx + 1, 0:ny + 1), unew(0:nx + 1, 0:ny + 1))
  do b = 0, blocks + 1
    call start(b)
  end do

  do step = 1, steps
    do b = 1, blocks
      call relax(b)
    end do
    do b = 1, blocks
      call advance(b)
    end do
  end do

  print "(a, es23.16, a, z16.16)", "sum ", sum(u), "  centre ", u(nx / 2, ny / 2)
end program
