/**
 * The MCP servers of one running configuration, and access to those of the configuration in use.
 */
import type { BrainConfig, McpServerConfig, Secrets } from '../../../config/config.ts';
import type { EnvName } from '../../../config/secret-value.ts';
import { serverOf } from '../../../config/rules-mcp.ts';
import { isLoopbackHost } from '../../../config/address.ts';
import type { Events } from '../../../domain/event.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { HttpClient } from '../../../lib/http-client.ts';
import { Mask } from '../../../lib/mask.ts';
import type { McpHealth } from '../../../domain/tool-use.ts';
import type { McpServer, McpSource } from './mcp.ts';
import { PinsFile } from './pins-file.ts';
import { SupervisedServer, type ServerOptions } from './supervised-server.ts';

export type McpDeps = Clock & {
  readonly http: HttpClient;
  readonly version: string;
  readonly events: Pick<Events, 'warned'>;
  /** The servers of the configuration in use. */
  readonly mcp: McpInUse;
  /** Absolute; null: there is no file of pins, and no tool of a server is announced. */
  readonly pinsFile: string | null;
};

/**
 * How often the pins are read again: the service sees the effect of `svc mcp pin` without a signal.
 */
const pinsMs = 5_000;

/** The servers of one running configuration: opened and closed with it. */
export class McpServers implements McpSource {
  readonly #servers: ReadonlyMap<string, SupervisedServer>;
  readonly #pins: PinsFile;
  readonly #deps: McpDeps;
  #timer: NodeJS.Timeout | null = null;

  constructor(brains: readonly BrainConfig[], secrets: Secrets, deps: McpDeps, initMs = 30_000) {
    this.#deps = deps;
    this.#pins = new PinsFile(deps.pinsFile, (why) => {
      const message = `${why}, so no tool of an MCP server is announced`;
      deps.events.warned({ code: 'mcp_server', message });
    });
    const servers = brains.flatMap((brain) =>
      (brain.agent?.mcp ?? []).flatMap((config) => {
        const listed = toolsOf(brain, config.name);
        if (listed.length === 0) return [];
        const options = optionsOf(brain, config, secrets, deps);
        const server = new SupervisedServer({ ...options, listed, pins: this.#pins, initMs });
        return [[keyOf(brain.name, config.name), server] as const];
      }),
    );
    this.#servers = new Map(servers);
  }

  /** Begins to connect, and returns at once. */
  open(): void {
    if (this.#servers.size === 0) return;
    for (const server of this.#servers.values()) server.open();
    void this.#pins.refresh();
    this.#timer = setInterval(() => void this.#pins.refresh(), pinsMs);
    this.#timer.unref();
  }

  /** Makes these the servers of the configuration in use. */
  run(): void {
    this.#deps.mcp.use(this);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all(Array.from(this.#servers.values(), (server) => server.close()));
  }

  find(brain: string, server: string): McpServer | null {
    return this.#servers.get(keyOf(brain, server)) ?? null;
  }

  standings(): readonly McpHealth[] {
    return Array.from(this.#servers.values(), (server) => server.standing());
  }
}

/** The servers of the configuration in use. */
export class McpInUse implements McpSource {
  #used: McpServers | null = null;

  use(servers: McpServers): void {
    this.#used = servers;
  }

  find(brain: string, server: string): McpServer | null {
    return this.#used?.find(brain, server) ?? null;
  }

  standings(): readonly McpHealth[] {
    return this.#used?.standings() ?? [];
  }
}

/** The server's own names of the tools that an agent lists. */
export function toolsOf({ agent }: BrainConfig, server: string): readonly string[] {
  const names = (agent?.tools ?? []).filter((tool) => serverOf(tool) === server);
  return names.map((tool) => tool.slice(`mcp.${server}.`.length));
}

const keyOf = (brain: string, server: string): string => `${server} ${brain}`;

function optionsOf(
  brain: BrainConfig,
  config: McpServerConfig,
  secrets: Secrets,
  deps: McpDeps,
): Omit<ServerOptions, 'listed' | 'pins' | 'initMs'> {
  const mask = new Mask();
  const { reach, secret } = reachOf(brain, config, (name) => secrets.get(name) ?? '', deps);
  mask.add(secret);
  const { version, steady, events } = deps;
  return {
    brain: brain.name,
    config,
    reach,
    version,
    steady,
    clean: (text) => mask.clean(text),
    warned: (message) => events.warned({ code: 'mcp_server', message }),
  };
}

/** `secret`: values that the server gets and nobody else may see. */
export function reachOf(
  brain: BrainConfig,
  { reach, timeoutMs }: McpServerConfig,
  valueOf: (name: EnvName) => string,
  { http, steady, version }: Pick<McpDeps, 'http' | 'steady' | 'version'>,
): { readonly reach: ServerOptions['reach']; readonly secret: readonly string[] } {
  if (reach.kind === 'command') {
    const env = Object.entries(reach.env).map(([key, name]) => [key, valueOf(name)] as const);
    // A path or a user's name is no secret, and removing it would damage honest answers.
    const secret = env.flatMap(([key, value]) => (plainVariables.has(key) ? [] : [value]));
    const { program, args } = reach;
    const reachOptions = { kind: 'command', program, args, env: Object.fromEntries(env) } as const;
    return { reach: reachOptions, secret };
  }
  const url = new URL(reach.url);
  const token = reach.tokenEnv === null ? null : valueOf(reach.tokenEnv);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const nearOnly = brain.sensitivity === 'private' || isLoopbackHost(host);
  const reachOptions = {
    kind: 'url',
    url,
    token,
    nearOnly,
    timeoutMs,
    http,
    steady,
    version,
  } as const;
  return { reach: reachOptions, secret: token === null ? [] : [token] };
}

const plainVariables: ReadonlySet<string> = new Set(['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR']);
