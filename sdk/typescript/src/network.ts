// The network policy of a sandbox as a field of a request, and its network statistics.

import { GloveboxError } from "./errors.js";
import { type Camel, compact, type Schemas } from "./wire.js";

/** Lists of rules: "pypi.org:443", "*.example.com", "192.0.2.0/24:8000-8100", "[2001:db8::/32]:443", "*:443". */
export interface NetPolicy {
  /** The policy if no list matches; default "none" with `allow`, else "all". */
  base?: "none" | "https-only" | "all";
  allow?: readonly string[];
  deny?: readonly string[];
  /** The list that wins where both match; default "deny". */
  precedence?: "allow" | "deny";
  /** Budgets of the sandbox's whole life; default: the administrator's. */
  budgets?: { bytesOut?: number; connections?: number; names?: number };
}

/** "none" (default), "https-only", "all", a list of allowed rules, or an object. */
export type Net = "none" | "https-only" | "all" | readonly string[] | NetPolicy;

export type NetworkDecision = Camel<Schemas["NetworkDecision"]>;
export type NetworkFigures = Camel<Schemas["NetworkFigures"]>;

/** `net` of a request. */
export function netOf(net: Net): Schemas["NetPolicy"] {
  if (typeof net === "string") return net;
  if (isList(net)) return { allow: [...net] };
  if (typeof net !== "object" || net === null) throw new GloveboxError("net: must be the name of a policy, a list of rules or an object");
  const { budgets, allow, deny, ...rest } = net;
  // Unknown fields are sent too: the server reports them.
  return compact({
    ...rest,
    allow: allow && [...allow],
    deny: deny && [...deny],
    budgets: budgets && compact({ bytes_out: budgets.bytesOut, connections: budgets.connections, names: budgets.names }),
  });
}

function isList(net: Net): net is readonly string[] {
  return Array.isArray(net);
}
