/** One tool of an MCP server, behind the contract of all tools. */
import type { McpServerConfig, McpToolName } from '../../../config/config.ts';
import { earlier, later, type SteadyTime } from '../../../lib/clock.ts';
import type { Tool, ToolParameters } from '../tool.ts';
import { descriptionForModel, parametersForModel } from './definition.ts';
import type { McpServer, McpSource, PinnedDefinition } from './mcp.ts';

export type McpToolOptions = {
  readonly name: McpToolName;
  readonly wireName: string;
  readonly brain: string;
  readonly server: McpServerConfig;
  readonly source: McpSource;
  readonly steady: () => SteadyTime;
};

const nothing: ToolParameters = { type: 'object', properties: {}, required: [] };

export function createMcpTool(options: McpToolOptions): Tool {
  return new McpTool(options);
}

class McpTool implements Tool {
  readonly name: McpToolName;
  readonly wireName: string;
  readonly reachesOut = true;
  readonly #options: McpToolOptions;
  readonly #toolName: string;
  /** Description and parameters for the server's present definition. */
  #cached: { hash: string; description: string; parameters: ToolParameters } | null = null;

  constructor(options: McpToolOptions) {
    this.#options = options;
    this.name = options.name;
    this.wireName = options.wireName;
    this.#toolName = options.name.slice(`mcp.${options.server.name}.`.length);
  }

  get description(): string {
    return this.#forModel()?.description ?? '';
  }

  get parameters(): ToolParameters {
    return this.#forModel()?.parameters ?? nothing;
  }

  get effect(): Tool['effect'] {
    return this.#definition()?.effect === false ? 'none' : 'outside';
  }

  get cage(): string {
    const { name } = this.#options.server;
    return `MCP server ${name}, ${stateInWords(this.#server(), this.#toolName)}`;
  }

  available(): boolean {
    return this.#definition() !== null;
  }

  check(args: Readonly<Record<string, unknown>>): ReturnType<Tool['check']> {
    const given = { ...args };
    return {
      kind: 'ready',
      run: async ({ signal, deadlineAt, sensitivity }) => {
        const { steady, server: config } = this.#options;
        const now = steady();
        const timeoutMs = earlier(later(now, config.timeoutMs), deadlineAt) - now;
        const server = this.#server();
        if (server === null || timeoutMs <= 0) {
          return { kind: 'failed', text: 'The call was not made: there is no time left for it.' };
        }
        const nearOnly = sensitivity === 'private';
        return server.call(this.#toolName, given, { signal, timeoutMs, nearOnly });
      },
    };
  }

  #server(): McpServer | null {
    const { source, brain, server } = this.#options;
    return source.find(brain, server.name);
  }

  #definition(): PinnedDefinition | null {
    return this.#server()?.definition(this.#toolName) ?? null;
  }

  #forModel() {
    const definition = this.#definition();
    if (definition === null) return null;
    if (this.#cached?.hash !== definition.hash) {
      const description = descriptionForModel(this.#options.server.name, definition);
      const parameters = parametersForModel(definition);
      this.#cached = { hash: definition.hash, description, parameters };
    }
    return this.#cached;
  }
}

function stateInWords(server: McpServer | null, tool: string): string {
  const standing = server?.standing();
  const state = standing?.tools.find((one) => one.tool === tool)?.state;
  switch (state) {
    case 'announced':
      return 'ready';
    case 'waiting':
      return standing?.state === 'down' ? 'down' : 'starting';
    case 'missing':
      return 'not offered';
    case 'not_pinned':
      return 'not pinned';
    case 'changed':
      return 'changed since it was pinned';
    case undefined:
      return 'not running';
    default:
      return state satisfies never;
  }
}
