"""Files and directories on this machine: what an upload reads and a download writes."""
