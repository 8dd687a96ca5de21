// Node: its HTTP module, environment variables, local files, and a server that is found or started. Node's
// modules are loaded on demand.

import type { Platform } from "./platform.js";

export const platform: Platform = {
  name: "node",
  environment: (name) => process.env[name],
  async findServer() {
    const { findLocalServer } = await import("./node_local_server.js");
    const found = await findLocalServer();
    if (found !== null) return found;
    const { startPrivateServer } = await import("./node_private_server.js");
    return startPrivateServer();
  },
  async keyFor(url) {
    const { keyOfLocalServer } = await import("./node_local_server.js");
    return keyOfLocalServer(url);
  },
  async stopPrivateServer() {
    const { stopPrivateServer } = await import("./node_private_server.js");
    await stopPrivateServer();
  },
  async transport() {
    const { NodeTransport } = await import("./node_transport.js");
    return new NodeTransport();
  },
  async realPath(path) {
    const { realpath } = await import("node:fs/promises");
    return realpath(path);
  },
  async readLocal(path) {
    const { open } = await import("node:fs/promises");
    const file = await open(path, "r");
    return file.createReadStream();
  },
  async writeLocal(path, pieces) {
    const { writeWhole } = await import("./node_files.js");
    await writeWhole(path, pieces);
  },
};
