// A WebSocket with a browser's face for Node 20, which has none: what the fetch transport uses in
// browsers is tested with it, too.

import { openNodeSocket } from "../../src/platform/node_socket.js";
import type { MessageSocket } from "../../src/transport.js";
import type { WebSocketConstructor } from "../../src/web_socket.js";

class BrowserLike {
  binaryType = "blob";
  onopen: ((event: object) => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onerror: ((event: object) => void) | null = null;
  private readonly socket: Promise<MessageSocket>;

  constructor(url: string, protocols: string[] = []) {
    this.socket = openNodeSocket({ url, protocols, signal: new AbortController().signal });
    this.pump().catch(() => {
      this.onerror?.({});
      this.onclose?.({ code: 1006 });
    });
  }

  send(data: string): void {
    this.socket.then((socket) => socket.send(data)).catch(() => undefined);
  }

  close(): void {
    this.socket.then((socket) => socket.close()).catch(() => undefined);
  }

  private async pump(): Promise<void> {
    const socket = await this.socket;
    this.onopen?.({});
    for (let data = await socket.receive(); data !== null; data = await socket.receive()) this.onmessage?.({ data });
    this.onclose?.({ code: 1000 });
  }
}

/** The real one where there is one (Node 22). */
export const NodeWebSocket: WebSocketConstructor =
  globalThis.WebSocket ?? (BrowserLike as unknown as WebSocketConstructor);
