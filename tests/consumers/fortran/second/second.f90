module second
  use norn
  implicit none
  type(norn_runtime) :: kept
end module
