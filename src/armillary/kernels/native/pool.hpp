// A small thread pool with dynamic chunks: a thread that the system takes away delays at most the chunk it holds.
// Knows nothing about what it runs.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace armillary {

class Pool {
public:
    static Pool& instance() {
        static Pool* pool = new Pool();  // never destroyed: workers may outlive static destructors
        return *pool;
    }

    void set_threads(int num_threads) {
        std::lock_guard<std::mutex> serial(call_mutex_);
        stop();
        for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { work(); });
    }

    int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Run body(context, task) for every task below num_tasks; returns when all are done.
    void run(uint32_t num_tasks, void (*body)(void*, uint32_t), void* context) {
        std::lock_guard<std::mutex> serial(call_mutex_);
        if (workers_.empty() || num_tasks == 1) {
            for (uint32_t task = 0; task < num_tasks; ++task) body(context, task);
            return;
        }
        const uint32_t generation = static_cast<uint32_t>(ticket_.load(std::memory_order_relaxed) >> 32) + 1;
        body_ = body;
        context_ = context;
        num_done_.store(0, std::memory_order_relaxed);
        num_tasks_ = num_tasks;
        // The ticket packs (generation, tasks left): a call that is over has none left, whatever the next one is about
        // to bring, so a late worker can never claim a task of another call.
        ticket_.store(static_cast<uint64_t>(generation) << 32 | num_tasks, std::memory_order_seq_cst);
        if (num_sleeping_.load(std::memory_order_seq_cst) > 0) {
            std::lock_guard<std::mutex> lock(sleep_mutex_);
            wake_.notify_all();
        }
        claim(generation);
        for (int spin = 0; num_done_.load(std::memory_order_acquire) < num_tasks; ++spin) {
            if (spin > 4000) std::this_thread::yield();
            else pause();
        }
    }

private:
    static constexpr int kSpins = 20000;  // roughly 100 us: covers the gap between two kernels of one decode step

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    void claim(uint32_t generation) {
        uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(ticket >> 32) == generation) {
            const uint32_t num_left = static_cast<uint32_t>(ticket);
            if (num_left == 0) return;
            if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
            // From here on the call waits for this task, so what describes it stands still.
            body_(context_, num_tasks_ - num_left);
            num_done_.fetch_add(1, std::memory_order_release);
            ticket = ticket_.load(std::memory_order_acquire);
        }
    }

    void work() {
        uint32_t seen = static_cast<uint32_t>(ticket_.load(std::memory_order_acquire) >> 32);
        while (!stopping_.load(std::memory_order_acquire)) {
            uint32_t now = seen;
            for (int spin = 0; spin < kSpins && now == seen; ++spin) {
                pause();
                now = static_cast<uint32_t>(ticket_.load(std::memory_order_acquire) >> 32);
                if (stopping_.load(std::memory_order_relaxed)) return;
            }
            if (now == seen) {
                std::unique_lock<std::mutex> lock(sleep_mutex_);
                num_sleeping_.fetch_add(1, std::memory_order_seq_cst);
                wake_.wait(lock, [&] {
                    now = static_cast<uint32_t>(ticket_.load(std::memory_order_seq_cst) >> 32);
                    return now != seen || stopping_.load(std::memory_order_relaxed);
                });
                num_sleeping_.fetch_sub(1, std::memory_order_seq_cst);
            }
            claim(now);
            seen = now;
        }
    }

    void stop() {
        {
            std::lock_guard<std::mutex> lock(sleep_mutex_);
            stopping_.store(true, std::memory_order_release);
            wake_.notify_all();
        }
        for (std::thread& worker : workers_) worker.join();
        workers_.clear();
        stopping_.store(false, std::memory_order_release);
    }

    std::mutex call_mutex_, sleep_mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> workers_;
    std::atomic<bool> stopping_{false};
    std::atomic<int> num_sleeping_{0};
    std::atomic<uint64_t> ticket_{0};
    std::atomic<uint32_t> num_done_{0};
    uint32_t num_tasks_ = 0;
    void (*body_)(void*, uint32_t) = nullptr;
    void* context_ = nullptr;
};

// Run a callable for every task below num_tasks.
template <typename Body>
void parallel_for(int64_t num_tasks, const Body& body) {
    if (num_tasks <= 0) return;
    Pool::instance().run(
        static_cast<uint32_t>(num_tasks),
        [](void* context, uint32_t task) { (*static_cast<const Body*>(context))(static_cast<int64_t>(task)); },
        const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace armillary
