// What a sandbox may reach, in our spelling and in the contract's, and what it did with it.

import { GloveboxError } from "./errors.js";
import { type Camel, compact, type Schemas } from "./wire.js";

/** Lists of rules: "pypi.org:443", "*.example.com", "192.0.2.0/24:8000-8100", "[2001:db8::/32]:443", "*:443". */
export interface NetPolicy {
  /** Where no list matches: "none" if there is `allow`, else "all". */
  base?: "none" | "https-only" | "all";
  allow?: readonly string[];
  deny?: readonly string[];
  /** The list that wins where both match; default "deny". */
  precedence?: "allow" | "deny";
  /** For its whole life; the administrator's where nothing is said. */
  budgets?: { bytesOut?: number; connections?: number; names?: number };
}

/** "none" (the default), "https-only", "all", a list of what may be reached, or lists with more to say. */
export type Net = "none" | "https-only" | "all" | readonly string[] | NetPolicy;

export type NetworkDecision = Camel<Schemas["NetworkDecision"]>;
export type NetworkFigures = Camel<Schemas["NetworkFigures"]>;

/** `net` of a request. */
export function netOf(net: Net): Schemas["NetPolicy"] {
  if (typeof net === "string") return net;
  if (isList(net)) return { allow: [...net] };
  if (typeof net !== "object" || net === null) throw new GloveboxError("net: a policy's name, a list of rules or an object");
  const { budgets, allow, deny, ...rest } = net;
  // What is not known here goes along: the server says what it makes of it.
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
