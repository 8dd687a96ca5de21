// What a sandbox may use and see, in our spelling, as the `profile` of a request.

import { type Dependencies, dependenciesOf } from "./dependencies.js";
import { GloveboxError } from "./errors.js";
import { type Net, netOf } from "./network.js";
import { platform } from "./platform/node.js";
import { compact, type Schemas } from "./wire.js";

export interface SandboxLimits {
  /** At least 8; with the disk it is what the sandbox holds at most. */
  memoryMb?: number;
  /** A share, like 0.5. */
  cpus?: number;
  /** Processes and threads at once. */
  pids?: number;
  diskMb?: number;
  /** Directories of the host: "r:/data", "rw:/data", "r:/data:/inside". See docs/sdk/typescript.md. */
  fs?: readonly string[];
  /** What it may reach: "none" (the default), "https-only", "all", a list like ["pypi.org:443"], or lists. */
  net?: Net;
  /** Packages it needs: ["pandas>=2"], or an object with more to say. Installed once, before the first call. */
  dependencies?: Dependencies;
}

export interface RunLimits extends SandboxLimits {
  /** Wall clock; else the template's. */
  timeoutMs?: number;
  /** CPU time of all its processes together. */
  cpuMs?: number;
  /** stdout and stderr together; more is dropped, and `truncated` says so. */
  outputKb?: number;
}

type Profile = Schemas["Profile"];
type Mount = NonNullable<Profile["mounts"]>[number];

/** The profile of a request; undefined when nothing was asked for. */
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
    mounts: limits.fs && limits.fs.length > 0 ? await Promise.all(limits.fs.map(mountOf)) : undefined,
  });
  return Object.keys(profile).length > 0 ? profile : undefined;
}

const HOW = 'write "r:/data", "rw:/data", "r:/data:/inside" or "r:NAME:/inside"';

async function mountOf(wish: string): Promise<Mount> {
  const colon = wish.indexOf(":");
  const mode = wish.slice(0, Math.max(colon, 0));
  const place = wish.slice(colon + 1);
  if ((mode !== "r" && mode !== "rw") || place === "") {
    throw new GloveboxError(`fs: ${JSON.stringify(wish)} is no mount: ${HOW}`);
  }
  const cut = place.lastIndexOf(":/");
  const host = cut > 0 ? place.slice(0, cut) : place;
  const inside = cut > 0 ? place.slice(cut + 1) : null;
  const isPath = host.startsWith("/");
  if (!isPath && (inside === null || host.includes("/"))) {
    throw new GloveboxError(`fs: ${JSON.stringify(wish)}: a path of the host must be absolute, and a name needs a place: ${HOW}`);
  }
  return { name: isPath ? await platform.realPath(host) : host, path: inside ?? host, mode: mode === "r" ? "ro" : "rw" };
}
