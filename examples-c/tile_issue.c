#include "tile_issue.h"

#include "tile_device.h"

#include <stddef.h>

/* One kernel: a task that updates one tile and reads up to two, or a plain call. The accesses are all that norn is
 * told: no edge between tasks is named anywhere. */
int32_t issue(struct execution *execution, const struct kernel *kernel, int32_t priority, struct operands operands) {
    execution->kernels++;
    execution->flops += kernel->flops(&operands);
    if (execution->rt == NULL)
        return kernel->run(NULL, &operands);

    norn_access accesses[4];
    uint64_t count = 0;
    const int there = execution->on_device && kernel->enqueue != NULL;
    operands.device = execution->device;
    accesses[count++] = norn_update(there ? operands.c->on_device : operands.c->data);
    if (operands.a != NULL)
        accesses[count++] = norn_read(there ? operands.a->on_device : operands.a->data);
    if (operands.b != NULL)
        accesses[count++] = norn_read(there ? operands.b->on_device : operands.b->data);
    if (kernel == &kernel_verdict)
        accesses[count++] = norn_update(execution->device->verdicts_here); /* one after the other: the first that fails is told */
    if (there && kernel == &kernel_potrf) {
        accesses[count++] = norn_update(execution->device->work);
        accesses[count++] = norn_update(execution->device->verdicts);
    }

    norn_task task = NORN_TASK_INIT;
    if (there) {
        task.enqueue = *kernel->enqueue;
        task.place = execution->device->place;
    } else {
        task.run = kernel->run;
    }
    task.name = kernel->name;
    task.arg = &operands; /* copied by norn, so that no task needs an allocation */
    task.arg_bytes = sizeof operands;
    task.flags = NORN_COPY_ARG;
    task.accesses = accesses;
    task.access_count = count;
    task.priority = priority;
    task.group = execution->group;
    return norn_submit(execution->rt, &task, NULL);
}

int32_t urgency(const struct tiles *l, int col, enum urgency of) {
    return (int32_t)(l->across - col) * URGENCIES + (int32_t)of;
}
