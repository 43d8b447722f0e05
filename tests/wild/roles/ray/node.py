"""Starts Ray on this machine."""
import os

import ray

import run_folder


def start():
    run_folder.record("driver")
    ray.init(num_cpus=8, include_dashboard=False, _temp_dir=os.path.join(run_folder.FOLDER, "r"),
             _node_ip_address="127.0.0.1", object_store_memory=200 << 20)
