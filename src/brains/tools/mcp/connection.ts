/**
 * One connection to one MCP server, by the client library. Loaded when the first server is opened.
 * svc offers no capability, so the library answers a server's requests (sampling, elicitation,
 * roots) with "method not found". svc does not ask for resources and prompts.
 */
// oxlint-disable unicorn/prefer-add-event-listener -- the library has none of these
import { Client } from '@modelcontextprotocol/client';
import { stopOf, unlessStopped } from '../../../lib/stop.ts';
import { CommandTransport, endedBySvc, type CommandOptions } from './command-transport.ts';
import { definitionOf, type Definition } from './definition.ts';
import { MessageGuard, toolsMax } from './message-guard.ts';
import { ofRevision, reasonOf, sessionOver } from './url-fault.ts';
import { UrlTransport, type UrlOptions } from './url-transport.ts';

export type ConnectionOptions = {
  readonly reach:
    | ({ readonly kind: 'command' } & CommandOptions)
    | ({ readonly kind: 'url' } & UrlOptions);
  readonly version: string;
  readonly steady: () => number;
  readonly initMs: number;
  readonly toolsChanged: () => void;
};

export type CallOptions = { readonly signal: AbortSignal; readonly timeoutMs: number };

const pagesMax = 8;
const notAnMcpServer = 'it did not answer as an MCP server';

type Loose = Readonly<Record<string, unknown>>;

/**
 * Accepts every value, since svc checks each part itself. The library would refuse a whole list for
 * one tool whose schema is no object. It would refuse a whole result for one part of a new kind
 * (mcpx#28).
 */
const anyValue = {
  '~standard': { version: 1 as const, vendor: 'svc', validate: (value: unknown) => ({ value }) },
};

export class Connection {
  readonly #client: Client;
  readonly #guard: MessageGuard;
  readonly #inner: CommandTransport | UrlTransport;
  readonly #options: ConnectionOptions;
  readonly #ended = Promise.withResolvers<string>();
  #calls = 0;
  #idle: (() => void) | null = null;
  #isOver = false;
  #isOpening = false;

  constructor(options: ConnectionOptions) {
    const { reach, steady, toolsChanged } = options;
    this.#options = options;
    const inner = reach.kind === 'command' ? new CommandTransport(reach) : new UrlTransport(reach);
    this.#inner = inner;
    const flooded = (): void => void this.#end('it sent more than it was asked for');
    this.#guard = new MessageGuard(inner, { steady, toolsChanged, flooded });
    const info = { name: 'svc', version: options.version };
    // Without `callTool`, which checks results against the server's schemas: their patterns would
    // run.
    this.#client = new Client(info, { capabilities: {} });
    this.#client.onclose = () => {
      this.#isOver = true;
      const own = inner instanceof CommandTransport ? inner.ended : inner.fault?.reason;
      // The library closes a connection whose handshake fails: `open` gives the reason.
      if (own !== endedBySvc && own != null) this.#ended.resolve(own);
      else if (!this.#isOpening) this.#ended.resolve(notAnMcpServer);
    };
    // Faults of single messages; their calls end by timeout.
    this.#client.onerror = () => {};
  }

  /** Why the connection is over, once it is: in svc's own words, without any text of the server. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The last words of a program on stderr, cleaned; null: none, or it is no program. */
  async lastWords(clean: (text: string) => string): Promise<string | null> {
    return this.#inner instanceof CommandTransport ? this.#inner.lastWords(clean) : null;
  }

  /** @throws when it cannot connect in time */
  async open(signal: AbortSignal): Promise<void> {
    const { initMs } = this.#options;
    this.#isOpening = true;
    try {
      const limits = { signal, timeout: initMs, maxTotalTimeout: initMs };
      await this.#client.connect(this.#guard, limits);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === null) this.#ended.resolve(otherRevision(error) ?? notAnMcpServer);
      throw error;
    } finally {
      this.#isOpening = false;
    }
  }

  /** The server's tools, up to the limit. @throws when they do not come in time */
  async tools(signal: AbortSignal): Promise<readonly Definition[]> {
    const { initMs } = this.#options;
    const definitions = new Map<string, Definition>();
    const cursors = new Set<string | undefined>();
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page++) {
      cursors.add(cursor);
      const params = cursor === undefined ? {} : { cursor };
      const limits = { signal, timeout: initMs, maxTotalTimeout: initMs };
      const listing = { method: 'tools/list', params };
      const answer = await this.#page(listing, limits);
      if (answer === null) break;
      if (!Array.isArray(answer['tools'])) throw new Error('the list of tools is no list');
      for (const tool of answer['tools'] as readonly unknown[]) {
        const definition = definitionOf(tool);
        if (definition === null || definitions.has(definition.name)) continue;
        if (definitions.size < toolsMax) definitions.set(definition.name, definition);
      }
      const next = answer['nextCursor'];
      cursor = typeof next === 'string' ? next : undefined;
      // A repeated cursor leads nowhere (codebase-memory-mcp#1247).
      if (cursors.has(cursor) || cursor === undefined || definitions.size >= toolsMax) break;
    }
    return [...definitions.values()];
  }

  /**
   * One page of the list. An empty cursor is valid (fastmcp#5025), but many servers write it to
   * mean none (java-sdk#628). @returns null: the server refused an empty cursor, so there is no
   * further page
   */
  async #page(
    listing: { method: string; params: { cursor?: string } },
    limits: { signal: AbortSignal; timeout: number; maxTotalTimeout: number },
  ): Promise<Loose | null> {
    try {
      return (await this.#client.request(listing, anyValue, limits)) as Loose;
    } catch (error) {
      const isRefused = typeof (error as { code?: unknown }).code === 'number';
      if (listing.params.cursor === '' && isRefused) return null;
      throw error;
    }
  }

  /** @throws the error that prevented a result */
  async call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown> {
    const { signal, timeoutMs } = options;
    const limits = { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
    const params = { name, arguments: args };
    this.#calls++;
    try {
      return await this.#client.request({ method: 'tools/call', params }, anyValue, limits);
    } finally {
      if (--this.#calls === 0) this.#idle?.();
    }
  }

  /**
   * Gives the connection up because its session is over: `ended` says so, and another connection
   * takes its place. It closes when no call is under way, or when the signal aborts.
   */
  async retire(signal: AbortSignal): Promise<void> {
    this.#ended.resolve(sessionOver);
    if (this.#calls > 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      await unlessStopped(promise, stopOf(signal));
    }
    await this.#end(endedBySvc);
  }

  close(): Promise<void> {
    return this.#end(endedBySvc);
  }

  async #end(why: string): Promise<void> {
    this.#isOver = true;
    this.#ended.resolve(why);
    await this.#client.close().catch(() => {});
    await this.#inner.close();
  }
}

/** The reason, if the error is about the protocol's revision; null: another kind of error. */
function otherRevision(error: unknown): string | null {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof message !== 'string' || !ofRevision.test(message)) return null;
  // If the library's own error has no number, the server named a revision that it does not know.
  return typeof code === 'number'
    ? 'it refuses the revision of the protocol that svc speaks: update the server'
    : 'it speaks a revision of the protocol that svc does not know: update svc';
}
