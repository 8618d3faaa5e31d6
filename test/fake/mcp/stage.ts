/** A fake MCP server behind the dispatcher of tools, as an agent has it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrainConfig, McpServerConfig, Secrets } from '../../../src/config/config.ts';
import type { EnvName } from '../../../src/config/secret-value.ts';
import { writePins, type Pin } from '../../../src/config/mcp-pins.ts';
import { later, steadyNow, systemClock } from '../../../src/lib/clock.ts';
import { createDeadlines } from '../../../src/lib/deadlines.ts';
import { createHttpClient } from '../../../src/lib/http-client.ts';
import { createToolbox } from '../../../src/brains/tools/governance.ts';
import type { Definition } from '../../../src/brains/tools/mcp/definition.ts';
import { Connection } from '../../../src/brains/tools/mcp/connection.ts';
import { McpInUse, McpServers } from '../../../src/brains/tools/mcp/servers.ts';
import { createTools } from '../../../src/brains/tools/registry.ts';
import type { Ran, Toolbox } from '../../../src/brains/tools/tool.ts';
import { noReserved } from '../reserved.ts';
import { patienceMs, until } from '../../support/waiting.ts';

export const fakeServer = join(import.meta.dirname, 'server.mjs');

export type StageOptions = {
  readonly pins?: 'right' | 'wrong' | 'none';
  readonly effect?: boolean;
  readonly secret?: string;
  readonly timeoutSeconds?: number;
  readonly program?: string;
  readonly initMs?: number;
  readonly reach?: McpServerConfig['reach'];
  readonly sensitivity?: 'public' | 'private';
};

export class McpStage {
  readonly folder: string;
  readonly warnings: string[] = [];
  /** The time of the first warning, by `performance.now()`. */
  warnedAt: number | null = null;
  readonly journaled: string[] = [];
  #servers!: McpServers;
  #toolbox!: Toolbox;
  #sensitivity: 'public' | 'private' = 'public';

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(mode: string, options: StageOptions = {}): Promise<McpStage> {
    const stage = new McpStage(await mkdtemp(join(tmpdir(), 'svc-mcp-')));
    await stage.#pin(mode, options);
    stage.#begin(mode, options);
    return stage;
  }

  get note(): string {
    return join(this.folder, 'note');
  }

  get pinsFile(): string {
    return join(this.folder, 'svc.mcp.json');
  }

  async notes(): Promise<string> {
    return readFile(this.note, 'utf8').catch(() => '');
  }

  announced() {
    return this.#toolbox.announcedOn('webhook');
  }

  abilities() {
    return this.#toolbox.abilitiesOn('webhook');
  }

  standing() {
    return this.#servers.standings()[0]!;
  }

  stateOf(tool: string): string {
    return this.standing().tools.find((one) => one.tool === tool)!.state;
  }

  /** Waits until its tools are announced. */
  async up(): Promise<void> {
    await until('its tools are announced', async () => this.announced().length > 0);
  }

  async connected(): Promise<void> {
    await until('it is up', async () => this.standing().state === 'up');
  }

  call(name: string, given: object, signal = new AbortController().signal): Promise<Ran> {
    return this.#toolbox.run(
      { name, arguments: given },
      {
        signal,
        deadlineAt: later(steadyNow(), patienceMs),
        sensitivity: this.#sensitivity,
        key: 'm:1:0',
        channel: 'webhook',
        dryRun: false,
        note: () => '',
        ask: async () => 'asked',
        logCall: async ({ tool }) => {
          this.journaled.push(tool);
          return { kind: 'run' };
        },
        logCallEnd: () => {},
      },
    );
  }

  close(): Promise<void> {
    return this.#servers.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #pin(mode: string, { pins = 'right', effect = true, program }: StageOptions) {
    if (pins === 'none' || program !== undefined) return;
    const known = await definitionsOf(mode === 'poisoned' ? mode : 'honest');
    const hashOf = (hash: string): string => (pins === 'right' ? hash : hash.replace(/./g, '0'));
    const own = known.map(({ name, hash, parts }): [string, Pin] => {
      return [name, { hash: hashOf(hash), parts, effect, pinnedAt: '2026-11-27T00:00:00Z' }];
    });
    await writePins(this.pinsFile, new Map([['fake', new Map(own)]]));
  }

  #begin(mode: string, options: StageOptions): void {
    const {
      secret,
      timeoutSeconds = patienceMs / 1_000,
      program = process.execPath,
      sensitivity,
    } = options;
    this.#sensitivity = sensitivity ?? 'public';
    const env = (secret === undefined ? {} : { TOKEN: 'FAKE_TOKEN' }) as Record<string, EnvName>;
    const args = [fakeServer, mode, this.note];
    const reach = options.reach ?? { kind: 'command', program, args, env };
    const mcp: McpServerConfig = { name: 'fake', reach, timeoutMs: timeoutSeconds * 1_000 };
    const agent = { tools: ['mcp.fake.echo', 'mcp.fake.picture'], mcp: [mcp] };
    const brain = {
      name: 'default',
      sensitivity: this.#sensitivity,
      agent,
    } as never as BrainConfig;
    const secrets: Secrets = new Map([['FAKE_TOKEN' as EnvName, secret ?? '']]);
    const deadlines = createDeadlines();
    const warned = ({ message }: { message: string }): void => {
      this.warnedAt ??= performance.now();
      this.warnings.push(message);
    };
    const deps = {
      ...systemClock,
      http: createHttpClient(deadlines, { connectMs: patienceMs }),
      deadlines,
      version: '0',
      events: { warned },
      mcp: new McpInUse(),
      pinsFile: this.pinsFile,
    };
    this.#servers = new McpServers([brain], secrets, deps, options.initMs ?? patienceMs);
    this.#servers.open();
    const resolve = () => Promise.reject(new Error('nothing is resolved here'));
    const toolDeps = { ...deps, mcp: this.#servers, brain: 'default', resolve, heldDatabase: null };
    const tools = createTools(brain.agent!, { ...toolDeps, reserved: noReserved });
    const onFault = (error: unknown): void => assert.fail(error as Error);
    this.#toolbox = createToolbox({ ...systemClock, tools, grants: [], onFault });
  }
}

/** The fake server's definitions of its tools in a mode. */
export async function definitionsOf(mode: string): Promise<readonly Definition[]> {
  const args = [fakeServer, mode];
  const connection = new Connection({
    reach: { kind: 'command', program: process.execPath, args, env: {} },
    version: '0',
    steady: steadyNow,
    initMs: patienceMs,
    toolsChanged: () => {},
  });
  const { signal } = new AbortController();
  try {
    await connection.open(signal);
    return await connection.tools(signal);
  } finally {
    await connection.close();
  }
}

/** Writes pins into a folder. @returns the file */
export async function pinned(mode: string, folder: string): Promise<string> {
  const own = (await definitionsOf(mode)).map(({ name, hash, parts }): [string, Pin] => {
    return [name, { hash, parts, effect: true, pinnedAt: '' }];
  });
  const file = join(folder, 'other.json');
  await writeFile(file, '');
  await rm(file);
  await writePins(file, new Map([['fake', new Map(own)]]));
  return file;
}
