/**
 * One connection to one MCP server, by the client library. Loaded with the first server that is
 * opened. No capability is offered, so that what a server asks of svc (sampling, elicitation,
 * roots) is answered with "method not found"; resources and prompts are not asked for.
 */
// oxlint-disable unicorn/prefer-add-event-listener -- the library has none of these
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { CommandTransport, type CommandOptions } from './command-transport.ts';
import { definitionOf, type Definition } from './definition.ts';
import { MessageGuard, toolsMax } from './message-guard.ts';
import { fetchOver, type UrlOptions } from './url-fetch.ts';

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

type Loose = Readonly<Record<string, unknown>>;

/**
 * The library would refuse a whole list for one tool whose schema is no object, and a whole result
 * for one part of a new kind (mcpx#28). svc reads each by itself.
 */
const asItIs = {
  '~standard': { version: 1 as const, vendor: 'svc', validate: (value: unknown) => ({ value }) },
};

export class Connection {
  readonly #client: Client;
  readonly #guard: MessageGuard;
  readonly #command: CommandTransport | null;
  readonly #options: ConnectionOptions;
  readonly #ended = Promise.withResolvers<string>();
  #isOver = false;

  constructor(options: ConnectionOptions) {
    const { reach, steady, toolsChanged } = options;
    this.#options = options;
    this.#command = reach.kind === 'command' ? new CommandTransport(reach) : null;
    const inner = this.#command ?? overHttp(options);
    const flooded = (): void => void this.#end('it sent more than it was asked for');
    this.#guard = new MessageGuard(inner, { steady, toolsChanged, flooded });
    const info = { name: 'svc', version: options.version };
    // Without `callTool`, which checks results by schemas of the server: their patterns would run.
    this.#client = new Client(info, { capabilities: {} });
    this.#client.onclose = () => {
      this.#isOver = true;
      this.#ended.resolve(this.#command?.ended ?? 'the connection ended');
    };
    // Faults of single messages; the calls that they belong to end by their time.
    this.#client.onerror = () => {};
  }

  /** Why it is over, once it is: words of svc, nothing of what the server wrote. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** @throws when it cannot be connected to in time */
  async open(signal: AbortSignal): Promise<void> {
    const { initMs } = this.#options;
    await this.#client.connect(this.#guard, { signal, timeout: initMs, maxTotalTimeout: initMs });
  }

  /** Its tools, as many as are looked at. @throws when they do not come in time */
  async tools(signal: AbortSignal): Promise<readonly Definition[]> {
    const { initMs } = this.#options;
    const found = new Map<string, Definition>();
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const limits = { signal, timeout: initMs, maxTotalTimeout: initMs };
      const listing = { method: 'tools/list', params };
      const answer = (await this.#client.request(listing, asItIs, limits)) as Loose;
      if (!Array.isArray(answer['tools'])) throw new Error('the list of tools is no list');
      for (const tool of answer['tools'] as readonly unknown[]) {
        const definition = definitionOf(tool);
        if (definition === null || found.has(definition.name)) continue;
        if (found.size < toolsMax) found.set(definition.name, definition);
      }
      const next = answer['nextCursor'];
      cursor = typeof next === 'string' ? next : undefined;
      if (!cursor || found.size >= toolsMax) break;
    }
    return [...found.values()];
  }

  /** @throws what keeps the result from coming */
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown> {
    const { signal, timeoutMs } = options;
    const limits = { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
    const params = { name, arguments: args };
    return this.#client.request({ method: 'tools/call', params }, asItIs, limits);
  }

  close(): Promise<void> {
    return this.#end('it was ended');
  }

  async #end(why: string): Promise<void> {
    this.#isOver = true;
    this.#ended.resolve(why);
    await this.#client.close().catch(() => {});
    await this.#command?.close();
  }
}

function overHttp({ reach }: ConnectionOptions): StreamableHTTPClientTransport {
  if (reach.kind !== 'url') throw new Error('a command is not reached over HTTP');
  return new StreamableHTTPClientTransport(reach.url, { fetch: fetchOver(reach) });
}
