/*
 * Types and operations, and types of memory that is not contiguous.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_TYPES_H
#define NORN_PLUGIN_TYPES_H

static int no_type(MPI_Datatype type) { return !type || type == MPI_DATATYPE_NULL; }

static int32_t type_builtin(int32_t number, int32_t *handle) {
    MPI_Datatype type;
    switch (number) {
    case NORN_BYTE: type = MPI_BYTE; break;
    case NORN_I8: type = MPI_INT8_T; break;
    case NORN_U8: type = MPI_UINT8_T; break;
    case NORN_I16: type = MPI_INT16_T; break;
    case NORN_U16: type = MPI_UINT16_T; break;
    case NORN_I32: type = MPI_INT32_T; break;
    case NORN_U32: type = MPI_UINT32_T; break;
    case NORN_I64: type = MPI_INT64_T; break;
    case NORN_U64: type = MPI_UINT64_T; break;
    case NORN_F32: type = MPI_FLOAT; break;
    case NORN_F64: type = MPI_DOUBLE; break;
    case NORN_C64: type = MPI_C_FLOAT_COMPLEX; break;
    case NORN_C128: type = MPI_C_DOUBLE_COMPLEX; break;
    default: return NORN_MPI_INVALID;
    }
    if (no_type(type)) return NORN_MPI_UNSUPPORTED;
    *handle = TYPE_INT(type);
    return NORN_MPI_OK;
}

static int32_t op_builtin(int32_t number, int32_t *handle) {
    MPI_Op op;
    switch (number) {
    case NORN_SUM: op = MPI_SUM; break;
    case NORN_PROD: op = MPI_PROD; break;
    case NORN_MIN: op = MPI_MIN; break;
    case NORN_MAX: op = MPI_MAX; break;
    case NORN_LAND: op = MPI_LAND; break;
    case NORN_LOR: op = MPI_LOR; break;
    case NORN_LXOR: op = MPI_LXOR; break;
    case NORN_BAND: op = MPI_BAND; break;
    case NORN_BOR: op = MPI_BOR; break;
    case NORN_BXOR: op = MPI_BXOR; break;
    default: return NORN_MPI_INVALID;
    }
    *handle = OP_INT(op);
    return NORN_MPI_OK;
}

static int32_t type_info(int32_t comm, int32_t handle, norn_mpi_type_info *info) {
    MPI_Comm all = COMM_OF(comm);
    MPI_Datatype type;
    MPI_Count size, lb, extent, true_lb, true_extent;
    char from = 0, to = 0;
    int position = 0;
    if (cannot_be(handle, 3) || no_comm(all) || no_type(type = TYPE_OF(handle))) return NORN_MPI_INVALID;
    /*
     * No call tells whether a type is committed; this one refuses what is not, even for no elements. It has a
     * communicator, too, whose handler then gets the error.
     */
    EXPECT(MPI_Pack(&from, 0, type, &to, 1, &position, all));
    EXPECT(MPI_Type_size_x(type, &size));
    EXPECT(MPI_Type_get_extent_x(type, &lb, &extent));
    EXPECT(MPI_Type_get_true_extent_x(type, &true_lb, &true_extent));
    info->size = size;
    info->extent = extent;
    info->true_lb = true_lb;
    info->true_extent = true_extent;
    return NORN_MPI_OK;
}

/* MPICH lets a logical operation on these pass, and ends the program when it carries it out. */
static int is_real(MPI_Datatype type) { return type == MPI_FLOAT || type == MPI_DOUBLE || type == MPI_LONG_DOUBLE; }
static int is_logical(MPI_Op op) { return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR; }

static int32_t op_check(int32_t op, int32_t datatype) {
    MPI_Op how = OP_OF(op);
    MPI_Datatype type;
    struct quiet quiet;
    char from = 0, to = 0;
    if (!how || how == MPI_OP_NULL || cannot_be(datatype, 3) || no_type(type = TYPE_OF(datatype))) {
        return NORN_MPI_INVALID;
    }
    if (is_logical(how) && is_real(type)) return MPI_ERR_OP;
    quiet_begin(&quiet);
    return quiet_end(&quiet, MPI_Reduce_local(&from, &to, 0, type, how));
}

/*
 * Makes the type of `count` times `base`, `stride` bytes apart, and not committed.
 * A count that an int cannot hold becomes blocks of 2^30 and a rest; the result
 * is given the extent that the simple type would have, which MPI might round.
 */
static int repeat_type(MPI_Datatype base, int64_t count, MPI_Aint stride, MPI_Datatype *made) {
    const int64_t block = INT64_C(1) << 30;
    MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, inner, whole;
    MPI_Aint lb, extent, displacement[2] = {0, 0}, whole_extent, block_bytes;
    int lengths[2] = {1, 1}, parts = count % block == 0 ? 1 : 2, code;
    EXPECT(MPI_Type_get_extent(base, &lb, &extent));
    if (count <= INT_MAX) {
        if (stride == extent) return MPI_Type_contiguous((int)count, base, made);
        return MPI_Type_create_hvector((int)count, 1, stride, base, made);
    }
    if (count / block > INT_MAX || __builtin_mul_overflow(count, (int64_t)stride, &whole_extent)) {
        return NORN_MPI_TOO_LARGE;
    }
    block_bytes = (MPI_Aint)block * stride;
    EXPECT(MPI_Type_create_hvector((int)block, 1, stride, base, &inner));
    code = MPI_Type_create_hvector((int)(count / block), 1, block_bytes, inner, &part[0]);
    MPI_Type_free(&inner);
    if (code == MPI_SUCCESS && parts == 2) {
        displacement[1] = (MPI_Aint)(count / block) * block_bytes;
        code = MPI_Type_create_hvector((int)(count % block), 1, stride, base, &part[1]);
    }
    if (code == MPI_SUCCESS) code = MPI_Type_create_struct(parts, lengths, displacement, part, &whole);
    if (part[0] != MPI_DATATYPE_NULL) MPI_Type_free(&part[0]);
    if (part[1] != MPI_DATATYPE_NULL) MPI_Type_free(&part[1]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Type_create_resized(whole, lb, whole_extent, made);
    MPI_Type_free(&whole);
    return code;
}

/* As repeat_type; frees `base` unless it is the one to keep. */
static int repeat_again(MPI_Datatype *type, MPI_Datatype keep, int64_t count, int64_t stride, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Aint bytes;
    int code = __builtin_mul_overflow(stride, (int64_t)extent, &bytes) ? NORN_MPI_TOO_LARGE
                                                                       : repeat_type(*type, count, bytes, &made);
    if (*type != keep) MPI_Type_free(type);
    if (code == MPI_SUCCESS) *type = made;
    return code;
}

static int make_blocks(MPI_Datatype base, int64_t count, int64_t blocks, int64_t stride, int64_t planes,
                       int64_t plane_stride, MPI_Datatype *made) {
    MPI_Datatype type = base;
    MPI_Aint lb, extent;
    EXPECT(MPI_Type_get_extent(base, &lb, &extent));
    EXPECT(repeat_again(&type, base, count, 1, extent));
    if (blocks != 1) EXPECT(repeat_again(&type, base, blocks, stride, extent));
    if (planes != 1) EXPECT(repeat_again(&type, base, planes, plane_stride, extent));
    *made = type;
    return MPI_Type_commit(made);
}

static int32_t type_blocks(int32_t base, int64_t count, int64_t blocks, int64_t stride, int64_t planes,
                           int64_t plane_stride, int32_t *handle) {
    MPI_Datatype type = TYPE_OF(base), made;
    struct quiet quiet;
    int code;
    if (no_type(type) || count < 0 || blocks < 0 || planes < 0) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    code = quiet_end(&quiet, make_blocks(type, count, blocks, stride, planes, plane_stride, &made));
    if (code != MPI_SUCCESS) return code;
    *handle = TYPE_INT(made);
    return NORN_MPI_OK;
}

static int32_t type_free(int32_t handle) {
    MPI_Datatype type = TYPE_OF(handle);
    struct quiet quiet;
    if (no_type(type)) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    return quiet_end(&quiet, MPI_Type_free(&type));
}

/* `count` times `type` as one type, for an MPI whose counts are ints. */
static int large_type(MPI_Datatype type, int64_t count, MPI_Datatype *made) {
    MPI_Aint lb, extent;
    EXPECT(MPI_Type_get_extent(type, &lb, &extent));
    EXPECT(repeat_type(type, count, extent, made));
    return MPI_Type_commit(made);
}

#endif /* NORN_PLUGIN_TYPES_H */
