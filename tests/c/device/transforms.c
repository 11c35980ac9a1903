/* Calls of cuFFT in enqueue bodies run on the body's stream, in the order of the graph: there and back again gives what went in,
 * between kernels of norn's, many times over on several data. Without the library, or on the stand-in, skipped.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#include <math.h>

enum { LENGTH = 1 << 14, FIELDS = 3, ROUNDS = 20, C2C = 0x29, FORWARD = -1, INVERSE = 1 };

static struct {
    int (*plan)(int *plan, int length, int kind, int batch);
    int (*set_stream)(int plan, void *stream);
    int (*exec)(int plan, void *from, void *to, int direction);
    int (*destroy)(int plan);
} fft;

typedef struct field {
    norn_data on_device, start, end;
    float *in, *out; /* pairs */
    void *address;
    int plan;
} field;

static int32_t there(norn_self *self, void *stream, void *arg) {
    const field *f = arg;
    (void)self;
    CHECK_EQUAL(fft.set_stream(f->plan, stream), 0);
    CHECK_EQUAL(fft.exec(f->plan, f->address, f->address, FORWARD), 0);
    return 0;
}
static int32_t back(norn_self *self, void *stream, void *arg) {
    const field *f = arg;
    (void)self;
    CHECK_EQUAL(fft.set_stream(f->plan, stream), 0);
    CHECK_EQUAL(fft.exec(f->plan, f->address, f->address, INVERSE), 0);
    return 0;
}

static void enqueue(const device *d, norn_enqueue_fn body, field *f) {
    norn_access access = norn_update(f->on_device);
    norn_task task = NORN_TASK_INIT;
    task.enqueue = body;
    task.arg = f;
    task.place = d->place;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_OK(norn_submit(d->rt, &task, NULL));
}

static int find_cufft(void) {
    static const char *const names[] = {"libcufft.so.12", "libcufft.so.11"};
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < COUNT_OF(names); i++) library = dlopen(names[i], RTLD_NOW);
    if (library == NULL) return 0;
    *(void **)&fft.plan = dlsym(library, "cufftPlan1d");
    *(void **)&fft.set_stream = dlsym(library, "cufftSetStream");
    *(void **)&fft.exec = dlsym(library, "cufftExecC2C");
    *(void **)&fft.destroy = dlsym(library, "cufftDestroy");
    return fft.plan != NULL && fft.set_stream != NULL && fft.exec != NULL && fft.destroy != NULL;
}

int main(void) {
    static field fields[FIELDS];
    if (!find_cufft()) {
        printf("skipped: no cuFFT\n");
        return SKIPPED;
    }
    device d = device_open();
    for (int k = 0; k < FIELDS; k++) {
        field *f = &fields[k];
        uint64_t *in, *out; /* a pair of floats each */
        f->on_device = device_alloc(&d, LENGTH * 8);
        f->start = device_pinned(&d, LENGTH * 8, &in);
        f->end = device_pinned(&d, LENGTH * 8, &out);
        f->in = (float *)in;
        f->out = (float *)out;
        CHECK_OK(norn_data_pointer(d.rt, f->on_device, &f->address, NULL));
        for (int i = 0; i < 2 * LENGTH; i++) f->in[i] = (float)((i * 37 + k * 11) % 101) - 50;
        CHECK_EQUAL(fft.plan(&f->plan, LENGTH, C2C, 1), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < FIELDS; k++) {
            device_copy(&d, fields[k].start, fields[k].on_device, LENGTH);
            enqueue(&d, there, &fields[k]);
            enqueue(&d, back, &fields[k]);
            device_copy(&d, fields[k].on_device, fields[k].end, LENGTH);
        }
        CHECK_OK(norn_drain(d.rt, FOREVER));
        for (int k = 0; k < FIELDS; k++)
            for (int i = 0; i < 2 * LENGTH; i++)
                CHECK(fabsf(fields[k].out[i] / LENGTH - fields[k].in[i]) < 1e-2f);
    }
    for (int k = 0; k < FIELDS; k++) CHECK_EQUAL(fft.destroy(fields[k].plan), 0);
    CHECK_OK(norn_close(d.rt));
    return 0;
}
