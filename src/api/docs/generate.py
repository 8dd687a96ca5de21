#!/usr/bin/env python3
"""Makes what the server serves of its contract: /openapi.json, and the reference at /docs.

    generate.py CONTRACT DIRECTORY

reads the YAML contract and writes openapi_json.inc, docs_html.inc, page_css.inc and page_js.inc, C++
string literals, into the directory. The page needs no script to be read; page.js adds the forms that send requests."""
import html
import json
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    raise SystemExit("the API reference is made with PyYAML: apt-get install python3-yaml") from None

METHODS = ("get", "post", "put", "patch", "delete")
# Names of the groups of /v1, by the part of the path that follows.
GROUPS = {"run": "Runs", "runs": "Runs", "functions": "Runs", "sandboxes": "Sandboxes", "snapshots": "Snapshots",
          "templates": "Templates", "images": "Images", "layers": "Packages", "packages": "Packages", "events": "Events",
          "keys": "Keys", "engines": "Server", "gc": "Server", "overview": "Server", "settings": "Server", "live": "Events"}


def escaped(text):
    return html.escape(str(text), quote=True)


def prose(text):
    """Paragraphs, and code between backticks: what the contract's descriptions use."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", str(text)) if part.strip()]
    return "".join("<p>" + inline(part) + "</p>" for part in paragraphs)


def inline(text):
    parts = str(text).split("`")
    return "".join(f"<code>{escaped(part)}</code>" if number % 2 else escaped(part)
                   for number, part in enumerate(parts))


class Contract:
    def __init__(self, document):
        self.document = document

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def operations(self):
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method], item.get("parameters", [])

    def sample(self, schema, depth=0):
        """A value of this form, for examples."""
        schema = self.resolve(schema)
        for word in ("example", "const", "default"):
            if word in schema:
                return schema[word]
        if schema.get("examples"):
            return schema["examples"][0]
        if "enum" in schema:
            return schema["enum"][0]
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self.sample(schema[word][0], depth)
        kinds = schema.get("type", "object" if "properties" in schema or "allOf" in schema else "string")
        kind = kinds if isinstance(kinds, str) else kinds[0]
        if kind == "object":
            value = {}
            for part in schema.get("allOf", []):
                more = self.sample(part, depth)
                value.update(more if isinstance(more, dict) else {})
            properties = schema.get("properties", {})
            names = schema.get("required") or list(properties)[:3]
            for name in names if depth < 4 else []:
                if name in properties:
                    value[name] = self.sample(properties[name], depth + 1)
            return value
        if kind == "array":
            return [self.sample(schema["items"], depth + 1)] if "items" in schema and depth < 4 else []
        if kind == "integer" or kind == "number":
            return schema.get("minimum", 1)
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        if schema.get("format") == "date-time":
            return "2026-01-31T12:00:00.000Z"
        prefix = re.match(r"\^([a-z]{2})\[a-z0-9\]\{20\}\$", schema.get("pattern", ""))
        return prefix[1] + "a" * 20 if prefix else "text"


class Page:
    def __init__(self, contract):
        self.contract = contract
        self.out = []

    def add(self, *parts):
        self.out.extend(parts)

    def text(self):
        operations = list(self.contract.operations())
        groups = {}
        for operation in operations:
            groups.setdefault(group_of(operation), []).append(operation)
        info = self.contract.document["info"]
        self.add('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
                 '<meta name="viewport" content="width=device-width">',
                 f"<title>{escaped(info['title'])} API</title>",
                 '<link rel="stylesheet" href="/docs/page.css"><script src="/docs/page.js" defer></script>',
                 "</head><body>")
        self.navigation(groups)
        self.add(f"<main><h1>{escaped(info['title'])} API</h1>", prose(info["description"]))
        self.add('<p>The contract as a file: <a href="/openapi.yaml">/openapi.yaml</a>, '
                 '<a href="/openapi.json">/openapi.json</a>.</p>')
        self.add('<div class="key" hidden><label>API key <input id="key" type="password" autocomplete="off" '
                 'spellcheck="false" placeholder="gbx_…"></label> <small>For the forms below. It is sent as '
                 '<code>X-API-Key</code> to this server only, and forgotten with this page. The first key is in '
                 '<code>admin.key</code> in the data directory of the server.</small></div>')
        tags = {tag["name"]: tag.get("description", "") for tag in self.contract.document.get("tags", [])}
        for name, members in groups.items():
            self.add(f'<h2 id="group-{anchor(name)}">{escaped(name)}</h2>', prose(tags.get(name, "")))
            for operation in members:
                self.operation(*operation)
        self.add('<h2 id="schemas">Schemas</h2>')
        for name, schema in self.contract.document["components"]["schemas"].items():
            self.add(f'<section class="schema" id="schema-{escaped(name)}"><h3>{escaped(name)}</h3>')
            self.schema(schema)
            self.add("</section>")
        self.add("</main></body></html>\n")
        return "".join(self.out)

    def navigation(self, groups):
        self.add("<nav><strong>Routes</strong>")
        for name, members in groups.items():
            self.add(f'<details><summary><a href="#group-{anchor(name)}">{escaped(name)}</a></summary><ul>')
            for path, method, operation, _ in members:
                self.add(f'<li><a href="#op-{escaped(operation["operationId"])}"><b>{method.upper()}</b> '
                         f"{escaped(path)}</a></li>")
            self.add("</ul></details>")
        self.add('<a href="#schemas">Schemas</a></nav>')

    def operation(self, path, method, operation, shared):
        name = operation["operationId"]
        self.add(f'<section class="operation" id="op-{escaped(name)}" data-operation="{escaped(name)}" '
                 f'data-method="{method.upper()}" data-path="{escaped(path)}">'
                 f'<h3><b class="{method}">{method.upper()}</b> <code>{escaped(path)}</code></h3>'
                 f"<p>{inline(operation.get('summary', ''))}</p>", prose(operation.get("description", "")))
        parameters = [self.contract.resolve(one) for one in [*shared, *operation.get("parameters", [])]]
        self.parameters(parameters)
        content = self.contract.resolve(operation.get("requestBody", {})).get("content", {})
        examples = self.body(content)
        self.add('<h4>Example</h4><pre class="example">', escaped(curl(path, method, operation, content, examples)), "</pre>")
        self.responses(operation)
        if "101" not in operation["responses"]:
            self.form(path, parameters, content, examples)
        self.add("</section>")

    def parameters(self, parameters):
        if not parameters:
            return
        self.add("<h4>Parameters</h4><table><tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr>")
        for one in parameters:
            schema = self.contract.resolve(one.get("schema", {}))
            required = " <em>required</em>" if one.get("required") else ""
            self.add(f"<tr><td><code>{escaped(one['name'])}</code>{required}</td><td>{escaped(one['in'])}</td><td>",
                     self.kind(one.get("schema", {})), "</td><td>",
                     inline(one.get("description", schema.get("description", ""))), "</td></tr>")
        self.add("</table>")

    def body(self, content):
        """Shows the request's body; its examples, as (name, text)."""
        examples = []
        for media, form in content.items():
            self.add(f"<h4>Body: <code>{escaped(media)}</code></h4>")
            self.schema(form.get("schema", {}))
            if media != "application/json":
                continue
            given = form.get("examples", {})
            values = [(name, one["value"]) for name, one in given.items()]
            if not values:
                values = [("example", self.contract.sample(form.get("schema", {})))]
            examples = [(name, pretty(value)) for name, value in values]
            for name, text in examples:
                self.add(f'<p>Example <code>{escaped(name)}</code>:</p><pre class="example">{escaped(text)}</pre>')
        return examples

    def responses(self, operation):
        self.add("<h4>Answers</h4><table><tr><th>Status</th><th>Type</th><th>Meaning</th></tr>")
        shown = None
        for status, response in operation["responses"].items():
            response = self.contract.resolve(response)
            content = response.get("content", {})
            kinds = ", ".join(f"<code>{escaped(media)}</code> " + self.kind(form.get("schema", {}))
                              for media, form in content.items())
            self.add(f"<tr><td>{escaped(status)}</td><td>{kinds}</td><td>{inline(response.get('description', ''))}</td></tr>")
            if str(status).startswith("2") and "application/json" in content and shown is None:
                shown = content["application/json"].get("schema", {})
        self.add("</table>")
        if shown is not None:
            self.add(f'<details><summary>What an answer looks like</summary><pre class="example">'
                     f"{escaped(pretty(self.contract.sample(shown)))}</pre></details>")

    def form(self, path, parameters, content, examples):
        self.add('<details class="try" hidden><summary>Try it</summary><form>')
        named = {one["name"] for one in parameters}
        places = [name for name in re.findall(r"\{([^}]+)\}", path) if name not in named]
        for one in [{"name": name, "in": "path", "required": True} for name in places] + parameters:
            hint = self.contract.resolve(one.get("schema", {}))
            self.add(f'<label>{escaped(one["name"])} <input data-in="{escaped(one["in"])}" '
                     f'data-name="{escaped(one["name"])}" placeholder="{escaped(hint.get("default", ""))}"></label>')
        if content:
            media = next(iter(content))
            text = examples[0][1] if examples else ""
            self.add(f'<label>Body <textarea data-media="{escaped(media)}" spellcheck="false" '
                     f'rows="{min(16, text.count(chr(10)) + 2)}">{escaped(text)}</textarea></label>')
        self.add('<button type="button">Send</button></form><pre class="answer" aria-live="polite"></pre></details>')

    def kind(self, schema):
        """The type in one line, with a link to a schema that has a name."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f'<a href="#schema-{escaped(name)}">{escaped(name)}</a>'
        for word, join in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if word in schema:
                return join.join(self.kind(part) for part in schema[word])
        if "enum" in schema:
            return " | ".join(f"<code>{escaped(json.dumps(value))}</code>" for value in schema["enum"])
        if "const" in schema:
            return f"<code>{escaped(json.dumps(schema['const']))}</code>"
        kinds = schema.get("type", "any")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        words = []
        for kind in kinds:
            if kind == "array" and "items" in schema:
                words.append("list of " + self.kind(schema["items"]))
            elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
                words.append("object of " + self.kind(schema["additionalProperties"]))
            else:
                words.append(escaped(kind))
        return " or ".join(words) + bounds(schema)

    def schema(self, schema):
        """An object as a table of its fields, anything else in one line."""
        if "$ref" in schema:
            self.add("<p>", self.kind(schema), "</p>")
            return
        self.add(prose(schema.get("description", "")))
        for part in schema.get("allOf", []):
            self.schema(part)
        properties = schema.get("properties", {})
        if not properties:
            if "allOf" not in schema:
                self.add("<p>", self.kind(schema), "</p>")
            return
        self.add("<table><tr><th>Field</th><th>Type</th><th>Meaning</th></tr>")
        self.rows(properties, schema.get("required", []), "")
        self.add("</table>")

    def rows(self, properties, required, before):
        for name, one in properties.items():
            mark = " <em>required</em>" if name in required else ""
            meaning = inline(one.get("description", ""))
            if "default" in one:
                meaning += f" Default: <code>{escaped(json.dumps(one['default']))}</code>."
            self.add(f"<tr><td><code>{escaped(before + name)}</code>{mark}</td><td>", self.kind(one), "</td><td>",
                     meaning, "</td></tr>")
            if "$ref" not in one and "properties" in one:
                self.rows(one["properties"], one.get("required", []), before + name + ".")


def bounds(schema):
    words = []
    for low, high, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters"),
                            ("minItems", "maxItems", " items")):
        if low in schema and high in schema:
            words.append(f"{schema[low]} to {schema[high]}{unit}")
        elif low in schema:
            words.append(f"at least {schema[low]}{unit}")
        elif high in schema:
            words.append(f"at most {schema[high]}{unit}")
    if "pattern" in schema:
        words.append(f"like {schema['pattern']}")
    return escaped(" (" + ", ".join(words) + ")") if words else ""


def curl(path, method, operation, content, examples):
    real = re.sub(r"\{(\w+)\*?\}", lambda place: "$" + place[1].upper(), path)
    words = ["curl -s" if method == "get" else f"curl -s -X {method.upper()}"]
    if {} not in operation.get("security", []):
        words.append('-H "X-API-Key: $KEY"')
    media = next(iter(content), None)
    if media == "multipart/form-data":
        words.append("-F file=@data.csv")
    elif media == "application/json":
        text = json.dumps(json.loads(examples[0][1]), ensure_ascii=False).replace("'", "'\\''")
        words.append(f"-H 'Content-Type: application/json' -d '{text}'")
    elif media:
        words.append(f"-H 'Content-Type: {media}' --data-binary @FILE")
    return " \\\n  ".join([*words, f'"$URL{real}"'])


def pretty(value):
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def anchor(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def group_of(operation):
    path, _, described, _ = operation
    if described.get("tags"):
        return described["tags"][0]
    parts = path.strip("/").split("/")
    return GROUPS.get(parts[1], "Server") if parts[0] == "v1" and len(parts) > 1 else "Server"


def literal(text):
    """A C++ literal. Pieces, because compilers bound the length of one."""
    end = ')gbx"'
    if end in text:
        raise SystemExit(f"the text contains {end}")
    size = 16000
    return "\n".join(f'R"gbx({text[at:at + size]}{end}' for at in range(0, len(text), size)) + "\n"


def main():
    source, directory = map(pathlib.Path, sys.argv[1:])
    document = yaml.safe_load(source.read_text(encoding="utf-8"))
    beside = pathlib.Path(__file__).parent
    made = {"page_css": (beside / "page.css").read_text(encoding="utf-8"),
            "page_js": (beside / "page.js").read_text(encoding="utf-8"),
            "openapi_json": json.dumps(document, ensure_ascii=False, default=str) + "\n",
            "docs_html": Page(Contract(document)).text()}
    for name, text in made.items():
        (directory / f"{name}.inc").write_text(literal(text), encoding="utf-8")


if __name__ == "__main__":
    main()
