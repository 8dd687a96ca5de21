// The forms of the reference: each sends its route's request to the server that this page came from.
// Nothing of an answer becomes part of the page but text: it may be what a guest wrote.
"use strict";

const MOST_SHOWN = 200000; // characters of an answer

function requestOf(section) {
  let path = section.dataset.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const input of section.querySelectorAll("input[data-name]")) {
    const name = input.dataset.name;
    const value = input.value;
    if (input.dataset.in === "path") {
      if (value === "") throw new Error(`${name}: is missing`);
      // "{path*}" is several names with their slashes.
      const text = name.endsWith("*") ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);
      path = path.replace(`{${name}}`, () => text);
    } else if (value !== "" && input.dataset.in === "query") {
      query.append(name, value);
    } else if (value !== "" && input.dataset.in === "header") {
      headers.set(name, value);
    }
  }
  const key = document.getElementById("key").value.trim();
  if (key !== "") headers.set("X-API-Key", key);
  const request = { method: section.dataset.method, headers, credentials: "omit", redirect: "manual", cache: "no-store" };
  const body = section.querySelector("textarea");
  if (body !== null && body.value.trim() !== "") {
    if (body.dataset.media === "application/json") JSON.parse(body.value); // says where it is wrong
    // A form of several parts has its own boundary, which the browser writes.
    if (body.dataset.media === "multipart/form-data") {
      request.body = new FormData();
      request.body.append("file", new Blob([body.value]), "file.txt");
    } else {
      headers.set("Content-Type", body.dataset.media);
      request.body = body.value;
    }
  }
  const text = query.toString();
  return [location.origin + path + (text === "" ? "" : "?" + text), request];
}

function shown(text, type) {
  if (type.startsWith("application/json")) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }
  return text;
}

async function readAnswer(response, show) {
  const type = response.headers.get("Content-Type") || "";
  const reader = response.body ? response.body.getReader() : null;
  const decoder = new TextDecoder();
  let text = "";
  while (reader !== null) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_SHOWN) {
      await reader.cancel();
      show(text.slice(0, MOST_SHOWN) + "\n… (the rest is not shown)");
      return;
    }
    show(text); // live events appear as they arrive
  }
  show(shown(text, type));
}

const underWay = new Map(); // what ends a section's request: some answers are streams without end

async function send(section) {
  const answer = section.querySelector(".answer");
  const button = section.querySelector("button");
  if (underWay.has(section)) {
    underWay.get(section).abort();
    return;
  }
  const ending = new AbortController();
  underWay.set(section, ending);
  button.textContent = "Stop";
  answer.textContent = "…";
  const began = performance.now();
  let said = "";
  try {
    const [url, request] = requestOf(section);
    const response = await fetch(url, { ...request, signal: ending.signal });
    const head = `${response.status} ${response.statusText} (${Math.round(performance.now() - began)} ms)\n\n`;
    await readAnswer(response, (text) => {
      said = head + text;
      answer.textContent = said;
    });
  } catch (error) {
    answer.textContent = said === "" ? String(error) : `${said}\n\n${error}`;
  } finally {
    underWay.delete(section);
    button.textContent = "Send";
  }
}

for (const form of document.querySelectorAll(".try form")) {
  const section = form.closest(".operation");
  form.addEventListener("submit", (event) => { event.preventDefault(); send(section); });
  form.querySelector("button").addEventListener("click", () => send(section));
}
for (const part of document.querySelectorAll(".key, .try")) part.hidden = false;
