! An OpenMP region inside a task that holds two workers; and OpenMP threads that submit.
module regions
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer, parameter :: n = 100000
  real(8), target :: a(n)
contains
  subroutine scale()
    integer :: i
    !$omp parallel do num_threads(2)
    do i = 1, n
      a(i) = a(i) + i
    end do
    !$omp end parallel do
  end subroutine
end module

program test
  use regions
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: data
  integer :: i
  call norn_open(rt, norn_config(workers=2))
  call norn_data_register(rt, a, data)
  a = 0
  do i = 1, 20
    call norn_submit_subroutine(rt, scale, accesses=[norn_update(data)], cpus=2)
  end do
  call norn_drain(rt)
  call expect(all(nint(a) == [(20 * i, i = 1, n)]), "every element 20 times")
  !$omp parallel do num_threads(4)
  do i = 1, 200
    call norn_submit_subroutine(rt, scale, accesses=[norn_update(data)], cpus=2)
  end do
  !$omp end parallel do
  call norn_drain(rt)
  call expect(all(nint(a) == [(220 * i, i = 1, n)]), "every element 220 times")
  call norn_close(rt)
end program
