// The limits and mounts of a sandbox as the `profile` of a request.

import { type Dependencies, dependenciesOf } from "./dependencies.js";
import { GloveboxError } from "./errors.js";
import { type Net, netOf } from "./network.js";
import { platform } from "./platform/node.js";
import { compact, type Schemas } from "./wire.js";

export interface SandboxLimits {
  /** At least 8. */
  memoryMb?: number;
  /** Share of CPUs, like 0.5. */
  cpus?: number;
  /** Limit of processes and threads. */
  pids?: number;
  diskMb?: number;
  /** Directories of the host: "r:/data", "rw:/data", "r:/data:/inside". See docs/sdk/typescript.md. */
  fs?: readonly string[];
  /** Network policy: "none" (default), "https-only", "all", a list like ["pypi.org:443"], or an object. */
  net?: Net;
  /** Packages: ["pandas>=2"], or an object. Installed once, before the first call. */
  dependencies?: Dependencies;
}

export interface RunLimits extends SandboxLimits {
  /**
   * Instead of a template, an image of the server (`glovebox image list`); code is given to the image's own interpreter,
   * its Python soon warm. Without code and command the image's own program runs.
   */
  image?: string;
  /** Wall-clock limit; default: the template's. */
  timeoutMs?: number;
  /** CPU time of all its processes together. */
  cpuMs?: number;
  /** Limit of stdout and stderr together; the rest is dropped and `truncated` is set. */
  outputKb?: number;
  /**
   * "sandbox": the sandbox may serve several runs of Python code with the same key and limits, one after the other;
   * the process and everything that it can write are new for each run. "interpreter": runs of the same code share
   * these, too; only arguments and input are a run's own. Default "never".
   */
  reuse?: Profile["reuse"];
}

type Profile = Schemas["Profile"];
type Mount = NonNullable<Profile["mounts"]>[number];

/** The profile of a request; undefined if nothing was set. */
export async function profileOf(limits: RunLimits): Promise<Profile | undefined> {
  const profile: Profile = compact({
    timeout_ms: limits.timeoutMs,
    cpu_ms: limits.cpuMs,
    memory_mb: limits.memoryMb,
    cpus: limits.cpus,
    pids: limits.pids,
    disk_mb: limits.diskMb,
    output_kb: limits.outputKb,
    net: limits.net === undefined ? undefined : netOf(limits.net),
    dependencies: await dependenciesOf(limits.dependencies),
    reuse: limits.reuse,
    image: limits.image,
    mounts: limits.fs && limits.fs.length > 0 ? await Promise.all(limits.fs.map(mountOf)) : undefined,
  });
  return Object.keys(profile).length > 0 ? profile : undefined;
}

const HOW = 'use "r:/data", "rw:/data", "r:/data:/inside" or "r:NAME:/inside"';

async function mountOf(mount: string): Promise<Mount> {
  const colon = mount.indexOf(":");
  const mode = mount.slice(0, Math.max(colon, 0));
  const target = mount.slice(colon + 1);
  if ((mode !== "r" && mode !== "rw") || target === "") {
    throw new GloveboxError(`fs: ${JSON.stringify(mount)} is not a mount: ${HOW}`);
  }
  const cut = target.lastIndexOf(":/");
  const host = cut > 0 ? target.slice(0, cut) : target;
  const inside = cut > 0 ? target.slice(cut + 1) : null;
  const isPath = host.startsWith("/");
  if (!isPath && (inside === null || host.includes("/"))) {
    throw new GloveboxError(`fs: ${JSON.stringify(mount)}: a host path must be absolute, and a name needs a target path: ${HOW}`);
  }
  return { name: isPath ? await platform.realPath(host) : host, path: inside ?? host, mode: mode === "r" ? "ro" : "rw" };
}
