/**
 * Keeps one server connected, for as long as its configuration runs.
 *
 * States: starting → up → down → (after a pause) starting …; ended from each of them. A failed
 * start, a lost connection and a server that floods all lead to down. The pause doubles from 1 s to
 * 60 s, and begins anew once the server was up for a minute.
 *
 * A server at a url may forget its session (after its restart). Then it goes from up to starting at
 * once. New calls wait for the new session, and calls that met the old one are repeated, once.
 */
import type { McpServerConfig } from '../../../config/config.ts';
import { changesSince } from '../../../config/mcp-pins.ts';
import { pause } from '../../../lib/backoff.ts';
import { isNear } from '../../../lib/ip-address.ts';
import type { ToolResult } from '../tool.ts';
import type { Connection, ConnectionOptions } from './connection.ts';
import type { Definition } from './definition.ts';
import type { McpServerState, McpHealth, McpToolState } from '../../../domain/tool-use.ts';
import type { McpCall, McpServer, PinnedDefinition } from './mcp.ts';
import type { PinsFile } from './pins-file.ts';
import { isSessionOver, reasonOf, sessionOver } from './url-fault.ts';

export type ServerOptions = {
  readonly brain: string;
  readonly config: McpServerConfig;
  /** The server's own names of the tools that the agent lists. */
  readonly listed: readonly string[];
  readonly pins: PinsFile;
  readonly reach: ConnectionOptions['reach'];
  readonly version: string;
  readonly steady: () => number;
  /** For the handshake, and for each list of its tools. */
  readonly initMs: number;
  /** Removes secrets from the server's answers. */
  readonly clean: (text: string) => string;
  /** A warning for the operator, once for each text. */
  readonly warned: (text: string) => void;
};

const firstPauseMs = 1_000;
const pauseMaxMs = 60_000;
const stableMs = 60_000;
const callsMax = 32;
/** No server at a url announces by itself that its tools have changed. */
const relistMs = 60_000;
/** Between two lists, however often a server says that its tools changed. */
const changedPauseMs = 1_000;

export class SupervisedServer implements McpServer {
  readonly config: McpServerConfig;
  readonly #options: ServerOptions;
  readonly #ending = new AbortController();
  readonly #warned = new Set<string>();
  #connection: Connection | null = null;
  #state: McpServerState = 'starting';
  #reason: string | null = null;
  #definitions: ReadonlyMap<string, Definition> | null = null;
  #calls = 0;
  #changed: (() => void) | null = null;
  /** Set while a new session begins; resolves when it has begun or failed. */
  #renewal: PromiseWithResolvers<void> | null = null;
  #run: Promise<void> | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.config = options.config;
  }

  /** Begins, and returns at once. */
  open(): void {
    this.#run ??= this.#supervise();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#state = 'ended';
    await this.#connection?.close();
    await this.#run;
  }

  definition(tool: string): PinnedDefinition | null {
    const definition = this.#definitions?.get(tool);
    const pin = this.#options.pins.of(this.config.name, tool);
    if (definition === undefined || pin === null) return null;
    if (changesSince(pin, definition) !== null) return null;
    return { ...definition, effect: pin.effect };
  }

  standing(): McpHealth {
    const { brain, config, listed } = this.#options;
    const tools = listed.map((tool) => ({ tool, state: this.#stateOf(tool) }));
    const { name: server, reach } = config;
    return { brain, server, kind: reach.kind, state: this.#state, reason: this.#reason, tools };
  }

  /** Warns, once each, why listed tools are not announced. */
  warnOfTools(): void {
    for (const tool of this.#options.listed) {
      const state = this.#stateOf(tool);
      if (state === 'announced' || state === 'waiting') continue;
      this.#warn(`mcp.${this.config.name}.${tool} ${whyNot[state]}`);
    }
  }

  async call(
    tool: string,
    args: Record<string, unknown>,
    { signal, timeoutMs, nearOnly }: McpCall,
  ): Promise<ToolResult> {
    if (nearOnly && !this.#isCertainlyNear()) return notNear;
    if (this.#calls >= callsMax) {
      return { kind: 'failed', text: `${callsMax} calls wait for this server already.` };
    }
    this.#calls++;
    const callOver = new AbortController();
    const stop = AbortSignal.any([signal, callOver.signal]);
    const until = this.#options.steady() + timeoutMs;
    try {
      const first = await this.#callOnce(tool, args, until, stop);
      if (first !== sessionIsOver) return first;
      const second = await this.#callOnce(tool, args, until, stop);
      if (second !== sessionIsOver) return second;
      this.#warn(`the MCP server ${this.config.name} ${losesSession}`);
      return { kind: 'failed', text: 'The call was not run: the server keeps no session.' };
    } finally {
      callOver.abort();
      this.#calls--;
    }
  }

  /** Calls by the present connection, or by the one that is being made. */
  async #callOnce(
    tool: string,
    args: Record<string, unknown>,
    until: number,
    signal: AbortSignal,
  ): Promise<ToolResult | typeof sessionIsOver> {
    const { steady, clean } = this.#options;
    if (this.#renewal !== null) {
      await Promise.race([this.#renewal.promise, pause(until - steady(), signal)]);
    }
    const { resultOf, errorText } = await import('./result-text.ts');
    const connection = this.#connection;
    const timeoutMs = until - steady();
    // With the new session, the server may define its tools differently.
    if (connection === null || this.definition(tool) === null || timeoutMs <= 0) return unavailable;
    try {
      return resultOf(await connection.call(tool, args, { signal, timeoutMs }), clean);
    } catch (error) {
      if (isSessionOver(error)) {
        this.#renew(connection);
        return sessionIsOver;
      }
      const reason = reasonOf(error);
      if (reason !== null)
        this.#warn(`a call of mcp.${this.config.name}.${tool} failed: ${reason}`);
      // A server's error text is for the model alone, and bounded like a result.
      return { kind: 'failed', text: connection.isOver ? endedMeanwhile : clean(errorText(error)) };
    }
  }

  /**
   * Begins a new session instead of that connection's.
   * @returns false: another call has done it, or the session never worked
   */
  #renew(connection: Connection): boolean {
    if (this.#connection !== connection || this.#state !== 'up') return false;
    this.#renewal = Promise.withResolvers<void>();
    [this.#state, this.#connection] = ['starting', null];
    void connection.retire(this.#ending.signal);
    return true;
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#ending;
    const { steady } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const since = steady();
      const reason = await this.#connectOnce(signal).catch(() => 'it could not be asked');
      this.#connection = null;
      if (signal.aborted) break;
      if (reason === sessionOver) continue;
      this.#definitions = null;
      [this.#state, this.#reason] = ['down', reason];
      this.#endRenewal();
      this.#warn(`the MCP server ${this.config.name} is down: ${reason}`);
      failures = steady() - since >= stableMs ? 1 : failures + 1;
      await pause(Math.min(pauseMaxMs, firstPauseMs * 2 ** (failures - 1)), signal);
      if (!signal.aborted) this.#state = 'starting';
    }
    this.#state = 'ended';
    this.#definitions = null;
    this.#endRenewal();
  }

  #endRenewal(): void {
    this.#renewal?.resolve();
    this.#renewal = null;
  }

  /** @returns why it is over */
  async #connectOnce(signal: AbortSignal): Promise<string> {
    const { Connection: ConnectionClass } = await import('./connection.ts');
    const { reach, version, steady, initMs } = this.#options;
    const toolsChanged = (): void => this.#changed?.();
    const connection = new ConnectionClass({ reach, version, steady, initMs, toolsChanged });
    this.#connection = connection;
    const ended = connection.ended;
    let reason: string | null = null;
    try {
      reason = await Promise.race([this.#list(connection, signal), ended]);
      reason ??= await this.#watch(connection, ended, signal);
      return reason;
    } finally {
      if (reason !== sessionOver) await connection.close();
    }
  }

  /** @returns null: it is up; else why it is not */
  async #list(connection: Connection, signal: AbortSignal): Promise<string | null> {
    try {
      await connection.open(signal);
    } catch (error) {
      return reasonOf(error) ?? connection.ended;
    }
    return this.#relist(connection, signal);
  }

  /** @returns null: its tools are known; else why they are not */
  async #relist(connection: Connection, signal: AbortSignal): Promise<string | null> {
    try {
      const tools = await connection.tools(signal);
      await this.#options.pins.refresh();
      if (signal.aborted || this.#isGone(connection)) return 'it was ended';
      this.#definitions = new Map(tools.map((tool) => [tool.name, tool]));
      [this.#state, this.#reason] = ['up', null];
      this.#endRenewal();
      this.warnOfTools();
      return null;
    } catch (error) {
      if (!isSessionOver(error)) return reasonOf(error) ?? 'it did not list its tools';
      return this.#renew(connection) ? sessionOver : `it ${losesSession}`;
    }
  }

  /** Lists the tools again when the server says so, and at a url from time to time. */
  async #watch(connection: Connection, ended: Promise<string>, signal: AbortSignal) {
    for (;;) {
      const { promise: changed, resolve } = Promise.withResolvers<null>();
      this.#changed = () => resolve(null);
      const waiting = new AbortController();
      const isUrl = this.config.reach.kind === 'url';
      const due = isUrl
        ? pause(relistMs, AbortSignal.any([waiting.signal, signal])).then(() => null)
        : changed;
      const reason = await Promise.race([ended, changed, due]);
      waiting.abort();
      if (reason !== null) return reason;
      if (signal.aborted) return 'it was ended';
      const paused = pause(changedPauseMs, signal).then(() => null);
      const early = await Promise.race([ended, paused]);
      if (early !== null) return early;
      const failed = await this.#relist(connection, signal);
      if (failed !== null) return this.#isGone(connection) ? ended : failed;
    }
  }

  /** The connection has ended, or another one is taking its place. */
  #isGone(connection: Connection): boolean {
    return connection.isOver || connection !== this.#connection;
  }

  #stateOf(tool: string): McpToolState {
    const { pins } = this.#options;
    const pin = pins.of(this.config.name, tool);
    if (this.#definitions === null) return pin === null ? 'not_pinned' : 'waiting';
    const definition = this.#definitions.get(tool);
    if (definition === undefined) return 'missing';
    if (pin === null) return 'not_pinned';
    return changesSince(pin, definition) === null ? 'announced' : 'changed';
  }

  #isCertainlyNear(): boolean {
    const { reach } = this.#options;
    if (reach.kind === 'command' || reach.nearOnly) return true;
    return isNear(reach.url.hostname.replace(/^\[|\]$/g, ''));
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#options.warned(text);
  }
}

/** The result of an attempt whose session was over, so the call did not run. */
const sessionIsOver = Symbol('the session is over');

const endedMeanwhile =
  'The server ended before it answered. Whether the call took effect is not known.';

const losesSession =
  'knows nothing of the session that it has just begun: send all of svc to one process of it, or ' +
  'run it without sessions';

const whyNot = {
  missing: 'is not what its server offers, or is too large for a model: it is not announced',
  not_pinned: 'is not pinned, so it is not announced: run svc mcp pin',
  changed:
    'is no longer what was pinned, so it is not announced: look at it with svc mcp list, and run ' +
    'svc mcp pin if it is as it should be',
} as const;

const unavailable: ToolResult = {
  kind: 'failed',
  text: 'The call was not made: the server of this tool is not there now. Do without it.',
};

const notNear: ToolResult = {
  kind: 'refused',
  rule: 'address_not_private',
  text: 'This is private, and the server of this tool may be elsewhere: it was not asked.',
};
