// A server that answers as a test wants it to, well or badly.

import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as net from "node:net";

export type Answer = (request: http.IncomingMessage, response: http.ServerResponse, count: number) => void;

export async function serving(answer: Answer, test: (url: string, count: () => number) => Promise<void>): Promise<void> {
  let count = 0;
  const server = http.createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(request, response, ++count));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => count);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The same with bytes that are no HTTP that Node would write. */
export async function servingRaw(answer: (socket: net.Socket) => void, test: (url: string) => Promise<void>): Promise<void> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Both ways to a server. */
export const ways = {
  "node:http": {},
  fetch: { fetch: (url: string, init: RequestInit) => fetch(url, init) },
};
