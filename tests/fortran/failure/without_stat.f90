! Ends as its argument asks; without_stat.cmake looks at how.
module policy
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
  type(norn_runtime) :: rt
contains
  subroutine on_failure(arg, info) bind(c)
    type(c_ptr), value :: arg
    type(norn_error_info), intent(in) :: info
    print "(4a)", "callback: ", norn_text(info%task), ": ", norn_text(info%text)
    flush (6)
  end subroutine
  integer(c_int32_t) function fails(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    fails = norn_self_fail(self, 5, "pivot is zero")
  end function
  subroutine errs_inside()
    call norn_fulfill(rt, norn_token())
  end subroutine
end module

program test
  use policy
  implicit none
  type(norn_config) :: config
  type(norn_token) :: token
  character(20) :: what
  character(100) :: why
  call get_command_argument(1, what)
  config%workers = 1
  if (what(:4) == "call" .or. what == "open") then
    config%on_failure = NORN_ON_FAILURE_CALL
    config%failure = c_funloc(on_failure)
  else if (what(:5) == "abort") then
    config%on_failure = NORN_ON_FAILURE_ABORT
  end if
  if (what == "open") config%mode = 77
  call norn_open(rt, config)
  select case (what)
  case ("return", "call", "abort")
    call norn_fulfill(rt, norn_token())
  case ("errmsg")
    call norn_fulfill(rt, norn_token(), errmsg=why)
  case ("await")
    call norn_submit(rt, fails, token=token, name="factorise")
    call norn_await(rt, token)
  case ("inside", "call-inside")
    call norn_submit_subroutine(rt, errs_inside, token=token)
    call norn_await(rt, token)
  case ("subroutine", "call-subroutine")
    call norn_submit_subroutine(rt, errs_inside, accesses=[norn_read(norn_data())])
  case ("closed")
    call norn_close(rt)
    call norn_drain(rt)
  end select
  print "(a)", "went on"
end program
