! Bodies with large local arrays that run at once do not share them, and fit on the stack of a worker: compiled with
! -frecursive where the compiler would make them static.
module large
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer, parameter :: n = 500000 ! 4 MB
  integer, parameter :: many = 64
  integer :: sums(many) = 0
contains
  subroutine work(i)
    integer, intent(in) :: i
    real(8) :: scratch(n)
    integer :: k
    scratch = 0
    do k = 1, 20
      scratch = scratch + i
      if (any(nint(scratch(::1000)) /= i * k)) return
    end do
    sums(i) = nint(scratch(n))
  end subroutine
end module

program test
  use large
  implicit none
  type(norn_runtime) :: rt
  integer :: i
  call norn_open(rt, norn_config(workers=4))
  do i = 1, many
    call norn_submit_subroutine(rt, work, i)
  end do
  call norn_close(rt)
  do i = 1, many
    call expect_equal(sums(i), 20 * i, "sum of a body")
  end do
end program
