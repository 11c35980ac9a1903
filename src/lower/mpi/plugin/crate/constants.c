/* What mpi-sys 0.2 does not name: macros of mpi.h as functions. */
#include <mpi.h>

MPI_Datatype norn_mpi_byte(void) { return MPI_BYTE; }
void *norn_mpi_in_place(void) { return MPI_IN_PLACE; }
MPI_Op norn_mpi_op_null(void) { return MPI_OP_NULL; }
/* Open MPI turns integers that are no handle into NULL; zero is none in any MPI. */
int norn_mpi_is_comm(MPI_Comm comm) { return comm && comm != MPI_COMM_NULL; }
int norn_mpi_is_type(MPI_Datatype type) { return type && type != MPI_DATATYPE_NULL; }
int norn_mpi_is_op(MPI_Op op) { return op && op != MPI_OP_NULL; }
/* MPICH lets a logical operation on a real number pass, and ends the program when it carries it out. */
int norn_mpi_is_real(MPI_Datatype type) { return type == MPI_FLOAT || type == MPI_DOUBLE || type == MPI_LONG_DOUBLE; }
int norn_mpi_is_logical(MPI_Op op) { return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR; }
