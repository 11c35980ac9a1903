// What else ran on this machine meanwhile: processor time of the whole machine, time stolen
// by the hypervisor included, less that of this process. A figure taken beside other load is no
// figure, so every line of output says how much there was, in cores, and over how many seconds.
// The system counts in ticks of 10 ms: one short process says little, the mean over many does.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <ctime>

class OtherLoad {
  static double clock_s(clockid_t id) {
    timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  }
  static double machine_s() {
    long user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (FILE *f = std::fopen("/proc/stat", "r")) {
      if (std::fscanf(f, "cpu %ld %ld %ld %ld %ld %ld %ld %ld", &user, &nice, &system, &idle, &iowait, &irq, &softirq,
                      &steal) != 8)
        user = nice = system = irq = softirq = steal = 0;
      std::fclose(f);
    }
    return (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
  }
  double start_ = clock_s(CLOCK_MONOTONIC), own_ = clock_s(CLOCK_PROCESS_CPUTIME_ID), machine_ = machine_s();

 public:
  double seconds() const { return clock_s(CLOCK_MONOTONIC) - start_; }
  double cores() const {
    double wall = seconds(), own = clock_s(CLOCK_PROCESS_CPUTIME_ID) - own_;
    double other = machine_s() - machine_ - own;
    return other > 0 && wall > 0 ? other / wall : 0;
  }
};
