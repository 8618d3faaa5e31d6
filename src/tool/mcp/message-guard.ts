/**
 * Stands between a server and the client library: what was not asked for is counted and mostly let
 * fall, what was asked for is cut to a size that is read in a moment. A server that talks without
 * end is ended.
 */
// oxlint-disable unicorn/prefer-add-event-listener -- the library has none of these
import type {
  JSONRPCMessage,
  JSONRPCResultResponse,
  Transport,
} from '@modelcontextprotocol/client';

/** Of one server: beyond them all others are left unseen. */
export const toolsMax = 64;
const partsMax = 256;
/** So many messages that nobody asked for, in so long. */
const unaskedMax = 256;
const windowMs = 10_000;
const pendingMax = 256;

type Loose = Readonly<Record<string, unknown>>;

export type GuardEvents = {
  readonly steady: () => number;
  readonly toolsChanged: () => void;
  /** The connection is to end; called once. */
  readonly flooded: () => void;
};

export class MessageGuard implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  setProtocolVersion: (version: string) => void;
  readonly #inner: Transport;
  readonly #events: GuardEvents;
  readonly #pending = new Map<string | number, string>();
  #unasked = 0;
  #since = -Infinity;
  #isFlooded = false;

  constructor(inner: Transport, events: GuardEvents) {
    this.#inner = inner;
    this.#events = events;
    this.setProtocolVersion = (version) => inner.setProtocolVersion?.(version);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    const inner = this.#inner;
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => {
      this.#count();
      this.onerror?.(error);
    };
    inner.onmessage = (message: JSONRPCMessage) => {
      // It is called out of a stream: what a server wrote must not end svc.
      try {
        this.#take(message);
      } catch (error) {
        inner.onerror?.(error as Error);
      }
    };
    return inner.start();
  }

  send(...[message, options]: Parameters<Transport['send']>): Promise<void> {
    if ('method' in message && 'id' in message && message.id !== undefined) {
      if (this.#pending.size >= pendingMax) {
        this.#pending.delete(this.#pending.keys().next().value!);
      }
      this.#pending.set(message.id, message.method);
    }
    return this.#inner.send(message, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #take(message: JSONRPCMessage): void {
    if (this.#isFlooded) return;
    if ('method' in message) {
      if (!this.#count()) return;
      // The library answers requests: with "method not found", but for a ping.
      if ('id' in message) this.onmessage?.(message);
      else if (message.method === 'notifications/tools/list_changed') this.#events.toolsChanged();
      return;
    }
    const asked = message.id === undefined ? undefined : this.#pending.get(message.id);
    if (asked === undefined) {
      this.#count();
      return;
    }
    this.#pending.delete(message.id!);
    if ('result' in message) this.onmessage?.(answerOf(asked, message));
    else this.onmessage?.(message);
  }

  #count(): boolean {
    const now = this.#events.steady();
    if (now - this.#since > windowMs) [this.#since, this.#unasked] = [now, 0];
    this.#unasked++;
    if (this.#unasked <= unaskedMax) return true;
    if (!this.#isFlooded) this.#events.flooded();
    this.#isFlooded = true;
    return false;
  }
}

/** A result that is none is an error: the library would wait on. */
function answerOf(asked: string, message: JSONRPCResultResponse): JSONRPCMessage {
  const result = message.result as Loose | null;
  if (typeof result === 'object' && result !== null && !Array.isArray(result)) {
    return { ...message, result: lightened(asked, result) };
  }
  const error = { code: -32603, message: 'its result is no object' };
  return { jsonrpc: '2.0', id: message.id, error };
}

/** The library looks at every part of what it is given: it is given no more than is used. */
function lightened(method: string, result: Loose): Loose {
  if (method === 'tools/list' && Array.isArray(result['tools'])) {
    return { ...result, tools: result['tools'].slice(0, toolsMax) };
  }
  if (method !== 'tools/call') return result;
  const { content } = result;
  return { ...result, content: Array.isArray(content) ? content.slice(0, partsMax) : [] };
}
