! The procedures of the test "linked", for the program itself or a shared library.
module in_library
  use norn
  implicit none
  integer :: calls = 0
contains
  subroutine count_call()
    calls = calls + 1
  end subroutine
end module
