"""Starts Ray on this machine; with FAR_NODE a second node, at another address of it. With CLUSTER,
joins the one at that port."""
import os
import subprocess
import sys

import ray

import run_folder

FAR = os.environ.get("FAR_NODE")
CLUSTER = os.environ.get("CLUSTER")


def start():
    run_folder.record("driver")
    if CLUSTER:
        ray.init(address=f"127.0.0.1:{CLUSTER}")
        return
    ray.init(num_cpus=8, include_dashboard=False, _temp_dir=os.path.join(run_folder.FOLDER, "r"),
             _node_ip_address="127.0.0.1", object_store_memory=200 << 20)
    if FAR:
        subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "ray"), "start", "--address",
             ray.get_runtime_context().gcs_address, "--node-ip-address", FAR, "--num-cpus", "4",
             "--resources", '{"far": 4}', "--object-store-memory", str(100 << 20)], check=True)


def far(actor):
    """Places actors of the class on the second node, if there is one."""
    return actor.options(resources={"far": 1}) if FAR else actor
