// What SLURM's clients printed, recorded from 22.05.8 on a cluster of four nodes (names of users
// and folders changed). Newer versions replace the line TRES= by ReqTRES= and AllocTRES=.
#pragma once

#include <utility>

#include "slurm/job_text.h"
#include "tests/support/catch.h"

namespace oddrank::slurm::recorded {

inline constexpr const char* kRunning = R"(JobId=3 JobName=train it = 7B (v2)
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   Priority=4294901757 Nice=0 Account=(null) QOS=(null)
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:04 TimeLimit=00:30:00 TimeMin=N/A
   SubmitTime=2026-11-21T09:53:43 EligibleTime=2026-11-21T09:53:43
   AccrueTime=2026-11-21T09:53:43
   StartTime=2026-11-21T09:53:43 EndTime=2026-11-21T10:23:43 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-21T09:53:43 Scheduler=Main
   Partition=main AllocNode:Sid=localhost:3728
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[0-3]
   BatchHost=n0
   NumNodes=4 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=8,mem=16000M,node=4,billing=8
   Socks/Node=* NtasksPerN:B:S:C=2:0:*:* CoreSpec=*
   MinCPUsNode=2 MinMemoryNode=0 MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=NO Contiguous=0 Licenses=(null) Network=(null)
   Command=/shared/run8.sh a=b c d
   WorkDir=/shared
   Comment=hello Reason=none JobState=PENDING 
   StdErr=/shared/out dir/train it = 7B (v2)-3.out
   StdIn=/dev/null
   StdOut=/shared/out dir/train it = 7B (v2)-3.out
   Power=
   TresPerNode=gres:gpu:2
   

)";

// From 24.11.5, after `scontrol requeue`.
inline constexpr const char* kRequeued2411 = R"(JobId=1 JobName=pretrain
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   Priority=1 Nice=0 Account=(null) QOS=(null)
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:01 TimeLimit=00:30:00 TimeMin=N/A
   SubmitTime=2026-11-22T07:04:34 EligibleTime=2026-11-22T07:04:34
   AccrueTime=2026-11-22T07:06:35
   StartTime=2026-11-22T07:04:36 EndTime=2026-11-22T07:34:36 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-22T07:04:36 Scheduler=Main
   Partition=main AllocNode:Sid=0.0.0.0:17189
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[0-1]
   BatchHost=n0
   NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=2,mem=4000M,node=2,billing=2
   AllocTRES=cpu=2,mem=4000M,node=2,billing=2
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=1 MinMemoryCPU=2000M MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/shared/j.sh
   WorkDir=/
   StdErr=/shared/out
   StdIn=/dev/null
   StdOut=/shared/out
   

)";

inline constexpr const char* kPending = R"(JobId=4 JobName=pend
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   Priority=4294901756 Nice=0 Account=(null) QOS=(null)
   JobState=PENDING Reason=Resources Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:00 TimeLimit=00:30:00 TimeMin=N/A
   SubmitTime=2026-11-21T09:53:43 EligibleTime=2026-11-21T09:53:43
   AccrueTime=2026-11-21T09:53:43
   StartTime=Unknown EndTime=Unknown Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-21T09:53:43 Scheduler=Main
   Partition=main AllocNode:Sid=localhost:3728
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=
   NumNodes=4-4 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=8,mem=16000M,node=4,billing=8
   Command=/shared/run8.sh
   WorkDir=/shared
   StdErr=/shared/slurm-4.out
   StdIn=/dev/null
   StdOut=/shared/slurm-4.out
   Power=
   TresPerNode=gres:gpu:2
   

)";

inline constexpr const char* kCancelled = R"(JobId=2 JobName=pend
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   Priority=4294901758 Nice=0 Account=(null) QOS=(null)
   JobState=CANCELLED Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15
   RunTime=00:00:32 TimeLimit=00:30:00 TimeMin=N/A
   StartTime=2026-11-21T09:53:05 EndTime=2026-11-21T09:53:37 Deadline=N/A
   NodeList=n[0-3]
   BatchHost=n0
   NumNodes=4 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   StdOut=/shared/slurm-2.out

)";

inline constexpr const char* kFailed = R"(JobId=1 JobName=train it = 7B (v2)
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   JobState=FAILED Reason=JobLaunchFailure Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:53
   RunTime=00:00:00 TimeLimit=00:30:00 TimeMin=N/A
   StartTime=2026-11-21T09:53:02 EndTime=2026-11-21T09:53:02 Deadline=N/A
   NodeList=n[0-3]
   StdOut=/shared/out dir/train it = 7B (v2)-1.out

)";

inline constexpr const char* kCompleting = R"(JobId=4 JobName=pend
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   JobState=COMPLETING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15
   RunTime=00:18:08 TimeLimit=00:30:00 TimeMin=N/A
   NodeList=n2

)";

// A task of an array, shown by "scontrol show job 5_1"; a whole array prints one such record for
// each task that has started, and one for the rest.
inline constexpr const char* kArrayTask = R"(JobId=5 ArrayJobId=5 ArrayTaskId=1 JobName=arr
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   Priority=4294901755 Nice=0 Account=(null) QOS=(null)
   JobState=PENDING Reason=Resources Dependency=(null)
   RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A
   StartTime=Unknown EndTime=Unknown Deadline=N/A
   NodeList=
   NumNodes=1-1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Command=(null)
   StdOut=/dev/null

)";

inline constexpr const char* kHetPart = R"(JobId=7 HetJobId=6 HetJobOffset=1 JobName=het
   HetJobIdSet=6-7
   UserId=labuser(1000) GroupId=labuser(1000) MCS_label=N/A
   JobState=PENDING Reason=Resources Dependency=(null)
   RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A
   NodeList=

)";

inline constexpr const char* kSteps =
    R"(StepId=3.batch UserId=1000 StartTime=2026-11-21T09:53:43 TimeLimit=UNLIMITED
   State=RUNNING Partition=main NodeList=n0
   Nodes=1 CPUs=0 Tasks=1 Name=batch Network=(null)
   TRES=(null)
   ResvPorts=(null)
   CPUFreqReq=Default
   SrunHost:Pid=(null):0

StepId=3.0 UserId=1000 StartTime=2026-11-21T09:53:44 TimeLimit=UNLIMITED
   State=RUNNING Partition=main NodeList=n[0-3]
   Nodes=4 CPUs=8 Tasks=8 Name=sleep Network=(null)
   TRES=cpu=8,mem=16000M,node=4
   ResvPorts=(null)
   CPUFreqReq=Default Dist=Block
   SrunHost:Pid=n0:62
   TresPerNode=gres:gpu:2

)";

// srun of a step whose node n2 no longer has a slurmd.
inline constexpr const char* kNodeGone =
    R"(srun: cluster configuration lacks support for cpu binding
srun: error: Task launch for StepId=3.6 failed on node n2: Communication connection failure
srun: error: Application launch failed: Communication connection failure
srun: Job step aborted
)";

// The same, if the slurmd is stopped.
inline constexpr const char* kNodeStopped =
    R"(srun: error: slurm_receive_msgs: [[10.77.0.12]:6818] failed: Socket timed out on send/recv operation
srun: error: Task launch for StepId=3.4 failed on node n2: Socket timed out on send/recv operation
srun: error: Application launch failed: Socket timed out on send/recv operation
srun: Job step aborted
)";

inline constexpr const char* kAgentsEnded = R"(srun: error: n2: task 2: Exited with exit code 3
srun: error: n1: task 1: Killed
srun: Force Terminated StepId=3.3
)";

inline constexpr const char* kDenied =
    R"(srun: error: Unable to create step for job 3: Access/permission denied
)";
inline constexpr const char* kNotYet =
    R"(srun: error: Unable to confirm allocation for job 2: Job is pending execution
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 2
)";
inline constexpr const char* kExpired = R"(srun: error: Slurm job 1 has expired
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 1
)";
inline constexpr const char* kUnknownJob = "slurm_load_jobs error: Invalid job id specified\n";
inline constexpr const char* kNoConfiguration =
    R"(scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host
scontrol: error: fetch_config: DNS SRV lookup failed
scontrol: error: _establish_config_source: failed to fetch config
scontrol: fatal: Could not establish a configuration source
)";
inline constexpr const char* kNoMunge =
    R"(scontrol: error: If munged is up, restart with --num-threads=10
scontrol: error: Munge encode failed: Failed to access "/run/munge.sock": No such file or directory (Did you start munged?)
scontrol: error: slurm_send_node_msg: auth_g_create: REQUEST_FED_INFO has authentication error
slurm_load_jobs error: Protocol authentication error
)";

}  // namespace oddrank::slurm::recorded

namespace oddrank::slurm {

inline Job parsed(const char* text) {
  auto job = parse_job(text);
  REQUIRE(job);
  return *std::move(job);
}

}  // namespace oddrank::slurm
