! What every test here needs: checks that say where they failed and end the process with 1.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module check
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use norn
  implicit none
  private
  public :: expect, expect_status, expect_equal, expect_says, sleep_ms

  interface expect_equal
    procedure equal_int32, equal_int64, equal_text
  end interface

  interface
    subroutine exit_now(status) bind(c, name="_exit")
      import
      integer(c_int), value :: status
    end subroutine
    integer(c_int) function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
    end function
  end interface

contains

  ! Not stop: the check may have failed inside a task.
  subroutine fail(text)
    character(*), intent(in) :: text
    write (error_unit, "(4a)") text, ' (norn''s last text here: "', norn_last_error(), '")'
    flush (error_unit)
    call exit_now(1_c_int)
  end subroutine

  subroutine expect(holds, text)
    logical, intent(in) :: holds
    character(*), intent(in) :: text
    if (.not. holds) call fail("not true: " // text)
  end subroutine

  subroutine expect_status(got, expected, text)
    integer, intent(in) :: got
    integer(c_int32_t), intent(in) :: expected
    character(*), intent(in) :: text
    if (got /= expected) call fail(text // " gave " // norn_status_name(got) // ", expected " // &
      norn_status_name(int(expected)))
  end subroutine

  subroutine equal_int32(got, expected, text)
    integer(c_int32_t), intent(in) :: got, expected
    character(*), intent(in) :: text
    call equal_int64(int(got, c_int64_t), int(expected, c_int64_t), text)
  end subroutine

  subroutine equal_int64(got, expected, text)
    integer(c_int64_t), intent(in) :: got, expected
    character(*), intent(in) :: text
    character(80) :: numbers
    write (numbers, "(i0, a, i0)") got, ", expected ", expected
    if (got /= expected) call fail(text // " is " // trim(numbers))
  end subroutine

  subroutine equal_text(got, expected, text)
    character(*), intent(in) :: got, expected, text
    if (got /= expected) call fail(text // ' is "' // got // '", expected "' // expected // '"')
  end subroutine

  subroutine expect_says(where, part)
    character(*), intent(in) :: where, part
    if (index(where, part) == 0) call fail('"' // trim(where) // '" does not say "' // part // '"')
  end subroutine

  subroutine sleep_ms(ms)
    integer, intent(in) :: ms
    integer(c_int) :: ignored
    ignored = usleep(int(1000 * ms, c_int))
  end subroutine
end module
