! Heat in a plate with norn: heat2d_before.f90, its kernels untouched, as a graph of tasks. A block of one step needs its
! neighbours of the step before and nothing else, so that blocks may be several steps apart.
module heat
  implicit none
  integer, parameter :: nx = 512, ny = 512, blocks = 8, steps = 200
  real(8), parameter :: alpha = 0.2d0
  real(8), allocatable, target :: u(:, :), unew(:, :)
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
  use norn
  implicit none
  integer :: b, step
  type(norn_runtime) :: rt
  type(norn_data) :: du(0:blocks + 1), dnew(0:blocks + 1)

  allocate (u(0:nx + 1, 0:ny + 1), unew(0:nx + 1, 0:ny + 1))
  do b = 0, blocks + 1
    call start(b)
  end do
  call norn_open(rt)
  do b = 0, blocks + 1 ! a datum for each block, not one for the array
    call norn_data_register(rt, u(:, first(b):last(b)), du(b))
    call norn_data_register(rt, unew(:, first(b):last(b)), dnew(b))
  end do

  do step = 1, steps
    do b = 1, blocks
      call norn_submit_subroutine(rt, relax, b, accesses=[norn_read(du(b - 1:b + 1)), norn_write(dnew(b))])
    end do
    do b = 1, blocks
      call norn_submit_subroutine(rt, advance, b, accesses=[norn_read(dnew(b)), norn_update(du(b))])
    end do
  end do

  call norn_close(rt) ! waits for all
  print "(a, es23.16, a, z16.16)", "sum ", sum(u), "  centre ", u(nx / 2, ny / 2)
end program
