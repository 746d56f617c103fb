"""The calls that the jail must refuse, written down a second time: what leaves the filter's own list is missed here."""

from __future__ import annotations

_NEVER = """
    accept accept4 acct add_key adjtimex bind bpf chroot clock_adjtime clock_settime connect delete_module execve
    execveat fanotify_init fanotify_mark finit_module flock fork fsconfig fsmount fsopen fspick get_robust_list
    init_module inotify_add_watch io_uring_enter io_uring_register io_uring_setup ioperm iopl ioprio_set kcmp
    kexec_file_load kexec_load keyctl listen listmount lookup_dcookie mbind memfd_create memfd_secret migrate_pages
    mknod mknodat modify_ldt mount mount_setattr move_mount move_pages mq_notify mq_open mq_unlink msgctl msgget
    msgrcv msgsnd name_to_handle_at open_by_handle_at open_tree open_tree_attr perf_event_open personality
    pidfd_getfd pidfd_open pidfd_send_signal pivot_root process_madvise process_mrelease process_vm_readv
    process_vm_writev ptrace quotactl quotactl_fd reboot request_key rt_sigqueueinfo rt_tgsigqueueinfo
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler seccomp semctl semget semop semtimedop
    set_mempolicy set_mempolicy_home_node setdomainname sethostname setns setpriority settimeofday shmat shmctl
    shmget socket statmount swapoff swapon syslog timer_create tkill umount2 unshare uselib userfaultfd vfork
    vhangup vmsplice
"""

_METADATA = """
    chmod chown fchmod fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown
    lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat truncate utime utimensat utimes
"""

FORBIDDEN = _NEVER.split()
FORBIDDEN_WHERE_OUTER_FILES_ARE_WRITABLE = _METADATA.split()
