/**
 * Stands between a server and the client library. It counts unrequested messages and drops most of
 * them. It cuts answers to a size that is read in a moment. It ends a server that talks without
 * end.
 */
// oxlint-disable unicorn/prefer-add-event-listener -- the library has none of these
import { isObject } from '../../../lib/json.ts';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** Tools of one server; further tools are ignored. */
export const toolsMax = 64;
const partsMax = 256;
/** So many unrequested messages are allowed in one window. */
const unaskedMax = 256;
const windowMs = 10_000;
const pendingMax = 256;

type Loose = Readonly<Record<string, unknown>>;

export type GuardEvents = {
  readonly steady: () => number;
  readonly toolsChanged: () => void;
  /** The connection must end; called once. */
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
      // The stream calls this: a server's text must not end svc.
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
    if (!isAnswer(message)) {
      if (!this.#count()) return;
      // The library answers requests: "method not found", except for a ping.
      if ('id' in message) this.onmessage?.(message);
      else if ((message as Loose)['method'] === 'notifications/tools/list_changed')
        this.#events.toolsChanged();
      return;
    }
    const id = [...this.#pending.keys()].find((one) => isIdOf(message, one));
    if (id === undefined) {
      this.#count();
      return;
    }
    const method = this.#pending.get(id)!;
    this.#pending.delete(id);
    this.onmessage?.(answerOf(method, id, message));
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

/** Some write every field that a message may have: `method` in an answer as well (mcp-go#12). */
export function isAnswer(message: JSONRPCMessage): boolean {
  return !('method' in message) || 'result' in message || 'error' in message;
}

/** Some return a client's number as a text (python-sdk#1720). */
export function isIdOf(message: JSONRPCMessage, requestId: string | number): boolean {
  const { id } = message as Loose;
  return id === requestId || (typeof id === 'string' && id === String(requestId));
}

/**
 * An answer with only the protocol's fields, since the library would wait on for others: some write
 * `error: null` beside a result (Wazuh-MCP-Server#59). A result that is no object is an error, too.
 */
function answerOf(method: string, id: string | number, message: Loose): JSONRPCMessage {
  const { result, error } = message;
  if (error !== undefined && error !== null) {
    return { jsonrpc: '2.0', id, error: errorOf(error) };
  }
  if (isObject(result)) return { jsonrpc: '2.0', id, result: cutResult(method, result) };
  return { jsonrpc: '2.0', id, error: { code: -32603, message: 'its result is no object' } };
}

function errorOf(rawError: unknown): { code: number; message: string; data?: unknown } {
  const error = isObject(rawError) ? rawError : { message: rawError };
  const { code, message } = error;
  return {
    ...error,
    code: Number.isInteger(code) ? (code as number) : -32603,
    message: typeof message === 'string' ? message : 'it gave an error without words',
  };
}

/** Cuts the result: the library looks at every part that it gets. */
function cutResult(method: string, result: Loose): Loose {
  if (method === 'tools/list' && Array.isArray(result['tools'])) {
    return { ...result, tools: result['tools'].slice(0, toolsMax) };
  }
  if (method === 'initialize') return filledIntroduction(result);
  const { content } = result;
  return Array.isArray(content) ? { ...result, content: content.slice(0, partsMax) } : result;
}

/** Fills in fields that svc does not need: flapi#100 (`logging: null`), MCPSqlServer#3. */
function filledIntroduction(result: Loose): Loose {
  const { capabilities, serverInfo, protocolVersion } = result;
  if (!isObject(capabilities)) return result;
  const capabilityEntries = Object.entries(capabilities).filter(([, value]) => value !== null);
  const { name, version } = isObject(serverInfo) ? serverInfo : {};
  return {
    ...result,
    protocolVersion: protocolVersion ?? firstVersion,
    capabilities: Object.fromEntries(capabilityEntries),
    serverInfo: { name: textOr(name, 'unknown'), version: textOr(version, 'unknown') },
  };
}

const firstVersion = '2024-11-05';
const textOr = (value: unknown, other: string): string =>
  typeof value === 'string' ? value : other;
