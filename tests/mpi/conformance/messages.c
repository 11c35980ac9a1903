/*
 * Messages: which one is received, what is told of it, and how it fails.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void messages_of_many_sizes_around_the_ring(void) {
    static const int64_t sizes[] = {0, 1, 8, 1000, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t bytes = sizes[i];
        char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
        int32_t slots[2];
        norn_mpi_done done[2];
        memset(out, rank + 1, (size_t)bytes + 1);
        memset(in, 0, (size_t)bytes + 1);
        int32_t code = mpi->irecv(set, in, bytes, type_of(NORN_BYTE), previous(), (int32_t)i, comm, 11, &slots[0]);
        if (code == 0) code = mpi->isend(set, out, bytes, type_of(NORN_BYTE), next(), (int32_t)i, comm, 22, &slots[1]);
        if (code == 0) code = finish_all(slots, 2, done);
        int right = 1;
        for (int64_t k = 0; k < bytes; k++) right &= in[k] == previous() + 1;
        right &= in[bytes] == 0;
        free(out);
        free(in);
        OK(code);
        MUST(right, "%lld bytes arrived wrong", (long long)bytes);
        for (int k = 0; k < 2; k++) {
            MUST(done[k].outcome == NORN_MPI_DONE && done[k].error == 0, "outcome %d", (int)done[k].outcome);
            if (done[k].user == 22) {
                MUST(done[k].bytes == NORN_MPI_UNDEFINED && done[k].slot == slots[1], "send");
            } else {
                MUST(done[k].user == 11 && done[k].slot == slots[0], "slot %d", (int)done[k].slot);
                MUST(done[k].bytes == bytes && done[k].source == previous() && done[k].tag == (int32_t)i,
                     "%lld bytes from %d with tag %d", (long long)done[k].bytes, (int)done[k].source, (int)done[k].tag);
            }
        }
    }
}

static void null_buffers_may_be_sent_with_no_bytes(void) {
    int32_t slots[2];
    norn_mpi_done done[2];
    OK(mpi->irecv(set, NULL, 0, type_of(NORN_BYTE), previous(), 3, comm, 0, &slots[0]));
    OK(mpi->isend(set, NULL, 0, type_of(NORN_BYTE), next(), 3, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
}

static void any_source_and_any_tag(void) {
    int32_t slots[2], value = 100 + rank, got = 0;
    norn_mpi_done done[2];
    OK(mpi->irecv(set, &got, 1, type_of(NORN_I32), NORN_MPI_ANY, NORN_MPI_ANY, comm, 1, &slots[0]));
    OK(mpi->isend(set, &value, 1, type_of(NORN_I32), next(), 31, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    const norn_mpi_done *received = done[0].user == 1 ? &done[0] : &done[1];
    MUST(received->source == previous() && received->tag == 31 && got == 100 + previous(), "%d from %d, tag %d", got,
         (int)received->source, (int)received->tag);
}

static void the_largest_tag_works(void) {
    norn_mpi_comm_info info;
    int32_t slots[2];
    norn_mpi_done done[2];
    char out = 1, in = 0;
    OK(mpi->comm_info(comm, &info));
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), previous(), info.tag_ub, comm, 0, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), next(), info.tag_ub, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
    MUST(in == 1, "nothing came");
}

static void bad_ranks_and_tags_are_error_codes(void) {
    char byte = 0, text[512];
    int32_t slot = 77;
    int32_t code = mpi->isend(set, &byte, 1, type_of(NORN_BYTE), size, 0, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "rank %d gives %d", size, (int)code);
    OK(mpi->error_text(code, text, sizeof text));
    MUST(strcasestr(text, "rank") != NULL, "text \"%s\"", text);
    code = mpi->irecv(set, &byte, 1, type_of(NORN_BYTE), -77, 0, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "rank -77 gives %d", (int)code);
    code = mpi->isend(set, &byte, 1, type_of(NORN_BYTE), rank, -77, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "tag -77 gives %d", (int)code);
}

static void a_type_that_was_not_committed_is_an_error_code(void) {
    MPI_Datatype type;
    char bytes[4] = {0};
    int32_t slot = 77;
    MPI_Type_contiguous(4, MPI_BYTE, &type);
    int32_t code = mpi->isend(set, bytes, 1, integer_of_type(type), rank, 0, comm, 0, &slot);
    MPI_Type_free(&type);
    MUST(code > 0 && slot == 77, "gives %d", (int)code);
}

/*
 * 8 bytes for a buffer of 4, with `others` more requests tested in the same go.
 * Open MPI says nothing of it where a small message to the rank itself finds
 * its receive posted; norn knows both sides there.
 */
static void truncated(int others) {
    if (size == 1 && strcmp(mpi->family, "openmpi") == 0) return;
    int32_t slots[64], some;
    char out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0}, text[512], unused;
    norn_mpi_done done[64], found = {0};
    for (int i = 0; i < others; i++) {
        OK(mpi->irecv(set, &unused, 1, type_of(NORN_BYTE), rank, 1000 + i, comm, 50, &slots[2 + i]));
    }
    OK(mpi->irecv(set, in, 4, type_of(NORN_BYTE), previous(), 4, comm, 1, &slots[0]));
    OK(mpi->isend(set, out, 8, type_of(NORN_BYTE), next(), 4, comm, 2, &slots[1]));
    if (others == 0) {
        OK(finish(slots[0], &found));
        OK(finish(slots[1], &done[0]));
    } else {
        int left = 2;
        for (double end = MPI_Wtime() + 60; left > 0 && MPI_Wtime() < end;) {
            OK(mpi->test(set, slots, 2 + others, done, &some));
            for (int i = 0; i < some; i++, left--) {
                if (done[i].user == 1) found = done[i];
            }
        }
        MUST(left == 0, "%d left", left);
    }
    MUST(found.user == 1 && found.outcome == NORN_MPI_TRUNCATED && found.error > 0, "outcome %d error %d",
         (int)found.outcome, (int)found.error);
    MUST(found.tag == 4, "tag %d", (int)found.tag);
    MUST(in[4] == 0, "written behind the buffer");
    OK(mpi->error_text(found.error, text, sizeof text));
    MUST(strcasestr(text, "truncat") != NULL, "text \"%s\"", text);
    for (int i = 0; i < others; i++) {
        OK(mpi->cancel(set, slots[2 + i]));
        OK(finish(slots[2 + i], &done[0]));
        MUST(done[0].outcome == NORN_MPI_CANCELLED && done[0].user == 50, "outcome %d", (int)done[0].outcome);
    }
}

static void truncation_tested_alone(void) { truncated(0); }
static void truncation_tested_among_others(void) { truncated(5); }
static void truncation_tested_in_a_window(void) { truncated(60); }

static void one_byte_where_none_was_expected(void) {
    int32_t slots[2];
    char byte = 1;
    norn_mpi_done done[2];
    OK(mpi->irecv(set, NULL, 0, type_of(NORN_BYTE), previous(), 5, comm, 1, &slots[0]));
    OK(mpi->isend(set, &byte, 1, type_of(NORN_BYTE), next(), 5, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    for (int i = 0; i < 2; i++) {
        int right = done[i].user == 1 ? NORN_MPI_TRUNCATED : NORN_MPI_DONE;
        MUST(done[i].outcome == right, "outcome %d of %d", (int)done[i].outcome, (int)done[i].user);
    }
}

static void nothing_where_bytes_were_expected(void) {
    int32_t slots[2];
    char in[16];
    norn_mpi_done done[2];
    OK(mpi->irecv(set, in, 16, type_of(NORN_BYTE), previous(), 6, comm, 1, &slots[0]));
    OK(mpi->isend(set, NULL, 0, type_of(NORN_BYTE), next(), 6, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    const norn_mpi_done *received = done[0].user == 1 ? &done[0] : &done[1];
    MUST(received->outcome == NORN_MPI_DONE && received->bytes == 0, "%lld bytes", (long long)received->bytes);
}

static void a_receive_can_be_cancelled(void) {
    char in = 7;
    int32_t slot;
    norn_mpi_done done;
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slot));
    OK(mpi->cancel(set, slot));
    OK(mpi->cancel(set, slot));
    OK(finish(slot, &done));
    MUST(done.outcome == NORN_MPI_CANCELLED && done.user == 9 && done.error == 0 && in == 7, "outcome %d",
         (int)done.outcome);
    MUST(mpi->cancel(set, slot) == NORN_MPI_INVALID, "a free slot");
    MUST(mpi->cancel(set, -1) == NORN_MPI_INVALID && mpi->cancel(set, 1 << 30) == NORN_MPI_INVALID, "no slot");
}

static void a_cancel_loses_no_message(void) {
    char in = 0, out = 5;
    int32_t slots[2];
    norn_mpi_done done;
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), rank, 7, comm, 8, &slots[1]));
    MUST(mpi->cancel(set, slots[1]) == NORN_MPI_INVALID, "a send");
    OK(finish(slots[1], &done));
    OK(mpi->cancel(set, slots[0]));
    OK(finish(slots[0], &done));
    if (done.outcome == NORN_MPI_CANCELLED) {
        /* It was still on its way. Then it is not lost. */
        OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slots[0]));
        OK(finish(slots[0], &done));
    }
    MUST(done.outcome == NORN_MPI_DONE && done.bytes == 1 && in == 5, "outcome %d", (int)done.outcome);
}

static void a_probe_tells_source_tag_and_size(void) {
    int32_t slot, found = 0, code = 0, nothing = 7;
    norn_mpi_done message = {0}, done;
    double out[3] = {1, 2, 3}, in[3];
    OK(mpi->iprobe(NORN_MPI_ANY, 12345, comm, &nothing, &message));
    MUST(nothing == 0, "found a message");
    OK(mpi->isend(set, out, 3, type_of(NORN_F64), next(), 41, comm, 0, &slot));
    for (double end = MPI_Wtime() + 60; code == 0 && !found && MPI_Wtime() < end;) {
        code = mpi->iprobe(NORN_MPI_ANY, NORN_MPI_ANY, comm, &found, &message);
    }
    OK(code);
    MUST(found == 1 && message.source == previous() && message.tag == 41 && message.bytes == 24 && message.slot == -1,
         "%lld bytes", (long long)message.bytes);
    int32_t other;
    OK(mpi->irecv(set, in, 3, type_of(NORN_F64), message.source, message.tag, comm, 0, &other));
    OK(finish(other, &done));
    OK(finish(slot, &done));
    MUST(in[2] == 3, "wrong data");
}

/* The application's wildcards and norn's messages do not meet. */
static void the_traffic_of_the_application_is_its_own(void) {
    int32_t slots[2];
    char in = 0, out = 3, app_in = 0, app_out = 4;
    norn_mpi_done done[2];
    MPI_Request request;
    MPI_Irecv(&app_in, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), NORN_MPI_ANY, NORN_MPI_ANY, comm, 0, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), next(), 0, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
    MPI_Send(&app_out, 1, MPI_CHAR, next(), 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MUST(in == 3 && app_in == 4, "%d and %d", in, app_in);
}

/* Same pair of ranks, same tag: in the order of posting, whatever the sizes. */
static void messages_do_not_overtake(void) {
    enum { MANY = 200 };
    int32_t slots[2 * MANY];
    static norn_mpi_done done[2 * MANY];
    static int in[MANY][5000], out[MANY][5000];
    for (int i = 0; i < MANY; i++) {
        int64_t count = i % 3 == 0 ? 5000 : 1;
        out[i][0] = 1000 * rank + i;
        OK(mpi->irecv(set, in[i], 5000, type_of(NORN_I32), previous(), 8, comm, 1, &slots[i]));
        OK(mpi->isend(set, out[i], count, type_of(NORN_I32), next(), 8, comm, 2, &slots[MANY + i]));
    }
    OK(finish_all(slots, 2 * MANY, done));
    for (int i = 0; i < MANY; i++) MUST(in[i][0] == 1000 * previous() + i, "place %d holds %d", i, in[i][0]);
}

const struct check message_checks[] = {
    CHECK(messages_of_many_sizes_around_the_ring, ALWAYS),
    CHECK(null_buffers_may_be_sent_with_no_bytes, ALWAYS),
    CHECK(any_source_and_any_tag, ALWAYS),
    CHECK(the_largest_tag_works, ALWAYS),
    CHECK(bad_ranks_and_tags_are_error_codes, ALWAYS),
    CHECK(a_type_that_was_not_committed_is_an_error_code, ALWAYS),
    CHECK(truncation_tested_alone, ALWAYS),
    CHECK(truncation_tested_among_others, ALWAYS),
    CHECK(truncation_tested_in_a_window, ALWAYS),
    CHECK(one_byte_where_none_was_expected, ALWAYS),
    CHECK(nothing_where_bytes_were_expected, ALWAYS),
    CHECK(a_receive_can_be_cancelled, ALWAYS),
    CHECK(a_cancel_loses_no_message, ALWAYS),
    CHECK(a_probe_tells_source_tag_and_size, ALWAYS),
    CHECK(the_traffic_of_the_application_is_its_own, ALWAYS),
    CHECK(messages_do_not_overtake, ALWAYS),
    {NULL, NULL, ALWAYS},
};
