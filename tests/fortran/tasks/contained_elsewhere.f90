! A contained procedure is refused on whatever thread it is submitted, not only on the one whose stack has its host.
module outer
  use check
  use norn
  implicit none
  type(norn_runtime) :: rt
  procedure(norn_plain), pointer :: job => null()
contains
  subroutine submit_job()
    integer :: stat
    character(200) :: why
    call norn_submit_subroutine(rt, job, stat=stat, errmsg=why)
    call expect_status(stat, NORN_E_INVALID, "from a body on a worker")
    call expect_says(why, "module procedure")
  end subroutine
  subroutine host(n)
    integer, intent(in) :: n
    integer :: sum
    logical :: done
    type(norn_token) :: token
    sum = n
    job => add
    call norn_submit_subroutine(rt, submit_job, token=token)
    done = .false.
    do while (.not. done) ! without helping: the body runs on the worker
      call norn_test(rt, token, done)
    end do
    call norn_drain(rt)
    call expect_equal(sum, n, "nothing ran")
  contains
    subroutine add()
      sum = sum + 1
    end subroutine
  end subroutine
end module

program test
  use outer
  implicit none
  call norn_open(rt, norn_config(workers=1))
  call host(5)
  call norn_close(rt)
end program
