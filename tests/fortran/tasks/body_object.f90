! A task as an object: norn has a copy of its own, finalized once, after the run and before the token shows complete;
! also when the task fails, is cancelled, or is refused at submit.
module counted
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer, volatile :: finals = 0, runs = 0
  type, extends(norn_body) :: job
    integer :: number = 0, code = 0
    real(8), allocatable :: values(:)
    real(8), pointer :: result => null()
  contains
    procedure :: run
    final :: finish
  end type
contains
  subroutine run(this, self, stat)
    class(job), intent(inout) :: this
    type(norn_self), intent(in) :: self
    integer, intent(inout) :: stat
    runs = runs + 1
    call expect_equal(stat, 0, "stat on entry")
    if (associated(this%result)) this%result = sum(this%values) * this%number
    if (this%code /= 0) stat = norn_self_fail(self, this%code, "asked to fail")
  end subroutine
  subroutine finish(this)
    type(job), intent(inout) :: this
    if (this%number /= 0) finals = finals + 1
  end subroutine
end module

program test
  use counted
  implicit none
  type(norn_runtime) :: rt
  type(norn_token) :: token, gate
  type(norn_error_info) :: info
  type(job), allocatable :: mine
  real(8), target :: result
  integer :: stat, i
  character(200) :: why

  call norn_open(rt, norn_config(workers=1)) ! one after the other: the counters are plain
  allocate (mine)
  mine%number = 3
  mine%values = [1d0, 2d0, 4d0]
  mine%result => result
  call norn_submit(rt, mine, token=token, name="job")
  mine%values = 0 ! the copy has its own
  call norn_await(rt, token)
  call expect_equal(nint(result), 21, "what the copy computed")
  call expect_equal(finals, 1, "finals after one run")

  ! Many, all with one original.
  do i = 1, 1000
    call norn_submit(rt, mine)
  end do
  call norn_drain(rt)
  call expect_equal(finals, 1001, "finals after 1000 more")

  ! A failing one.
  mine%code = 7
  call norn_submit(rt, mine, token=token, name="failing")
  call norn_await(rt, token, stat=stat, errmsg=why)
  call expect_status(stat, NORN_E_TASK_FAILED, "await of a failing body")
  call expect_says(why, "asked to fail")
  call norn_error(rt, token, info)
  call expect_equal(int(info%code), 7, "its code")
  call expect_equal(norn_text(info%task), "failing", "its name")
  call expect_equal(norn_text(info%text), "asked to fail", "its text")
  call expect_equal(finals, 1002, "finals after a failure")

  ! Cancelled before it ran.
  call norn_promise(rt, gate)
  runs = 0
  call norn_submit(rt, mine, after=[gate], token=token)
  call norn_cancel(rt, token)
  call expect_equal(finals, 1003, "finals after a cancel")
  call norn_fulfill(rt, gate)
  call norn_drain(rt)
  call expect_equal(runs, 0, "runs of what was cancelled")

  ! Refused: norn has taken nothing, and the copy is gone.
  call norn_submit(rt, mine, accesses=[norn_read(norn_data(12345_c_int64_t))], stat=stat)
  call expect_status(stat, NORN_E_INVALID, "submit with a bad access")
  call expect_equal(finals, 1004, "finals after a refusal")

  ! The original is the caller's.
  deallocate (mine)
  call expect_equal(finals, 1005, "finals after all")
  call norn_close(rt, stat)
end program
