// A request of the playground as people would write it: for curl and for the two SDKs. Never with a key, which each
// reads from GLOVEBOX_API_KEY.
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(request) {
  return `curl -s ${location.origin}/v1/run \\\n  -H "X-API-Key: $GLOVEBOX_API_KEY" -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify(request, null, 2))}`;
}

// JSON is a JavaScript literal; Python has other words for three of its values.
const pythonLiteral = (value) => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${pythonLiteral(one)}`).join(", ")}}`;
  return JSON.stringify(value);
};

export function python(request) {
  const { code, profile = {}, env, stdin, language, template, min_grade } = request;
  const words = { language, template, stdin, env, timeout: profile.timeout_ms && profile.timeout_ms / 1000, memory_mb: profile.memory_mb, cpus: profile.cpus, disk_mb: profile.disk_mb, net: profile.net, dependencies: profile.dependencies, min_grade };
  const listed = Object.entries(words).filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => `    ${name}=${pythonLiteral(value)},\n`).join("");
  return `import glovebox\n\nclient = glovebox.Client(${JSON.stringify(location.origin)})\nresult = client.run(\n    ${JSON.stringify(code)},\n${listed})\nprint(result.stdout, result.value)\n`;
}

export function typescript(request) {
  const { code, profile = {}, env, stdin, language, template, min_grade } = request;
  const words = { language, template, stdin, env, timeoutMs: profile.timeout_ms, memoryMb: profile.memory_mb, cpus: profile.cpus, diskMb: profile.disk_mb, net: profile.net, dependencies: profile.dependencies, minGrade: min_grade };
  const listed = Object.entries(words).filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => `  ${name}: ${JSON.stringify(value)},\n`).join("");
  return `import { Client } from "@glovebox/sdk";\n\nconst client = new Client({ url: ${JSON.stringify(location.origin)} });\nconst result = await client.run(${JSON.stringify(code)}, {\n${listed}});\nconsole.log(result.stdout, result.value);\n`;
}
