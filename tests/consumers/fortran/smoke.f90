! A user's program: a task with data, a token, a failure that comes back.
module smoke_tasks
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
  real(8), target :: a(100)
contains
  subroutine fill()
    a = 2
  end subroutine
  integer(c_int32_t) function fails(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    fails = norn_self_fail(self, 3, "as asked")
  end function
end module

program smoke
  use smoke_tasks
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: data
  type(norn_token) :: token
  integer :: stat
  call norn_open(rt)
  call norn_data_register(rt, a, data)
  call norn_submit_subroutine(rt, fill, accesses=[norn_write(data)], token=token)
  call norn_await(rt, token)
  if (nint(sum(a)) /= 200) error stop "the task has not run"
  call norn_submit(rt, fails, token=token)
  call norn_await(rt, token, stat=stat)
  if (stat /= NORN_E_TASK_FAILED) error stop "the failure was lost"
  call norn_close(rt, stat)
end program
