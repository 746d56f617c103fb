// Calls of few and many tasks in turn, with more threads than cores: counts tasks that ran not once, or after their call.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "pool.hpp"

int main(int argc, char** argv) {
    const int num_threads = std::atoi(argv[1]);
    const double seconds = std::atof(argv[2]);
    (void)argc;
    armillary::Pool::instance().set_threads(num_threads);
    constexpr int kMost = 64;
    std::atomic<int> num_runs[kMost];
    std::atomic<long> num_strays{0};
    long num_wrong = 0, num_calls = 0;
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
        const int num_tasks = num_calls % 2 ? kMost : 2;
        for (std::atomic<int>& runs : num_runs) runs.store(0);
        std::atomic<bool> is_open{true};
        armillary::parallel_for(num_tasks, [&](int64_t task) {
            if (!is_open.load() || task >= num_tasks) num_strays.fetch_add(1);
            else num_runs[task].fetch_add(1);
        });
        is_open.store(false);
        for (int task = 0; task < num_tasks; ++task) num_wrong += num_runs[task].load() != 1;
        ++num_calls;
    }
    std::printf("%ld calls, %ld wrong, %ld strays\n", num_calls, num_wrong, num_strays.load());
    return num_wrong || num_strays.load();
}
