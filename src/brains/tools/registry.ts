/** The registry of tools, by their names in the configuration. */
import type { AgentConfig, McpToolName, ToolName } from '../../config/config.ts';
import { createCalc } from './calc/calc.ts';
import type { NetworkDeps } from './caged-request.ts';
import { createEcho } from './echo.ts';
import { createHttpFetch } from './http-fetch.ts';
import { createMcpTool } from './mcp/mcp-tool.ts';
import type { McpSource } from './mcp/mcp.ts';
import { wireNames } from './mcp/definition.ts';
import { createMemoryNote } from './memory-note.ts';
import { createReadFile } from './read-file/read-file.ts';
import { createTime } from './time.ts';
import type { Tool } from './tool.ts';
import { createWebhookCall } from './webhook-call.ts';

/** What tools need besides their cages. */
export type ToolDeps = NetworkDeps & {
  /** The database that this process has open; null: none. */
  readonly heldDatabase: string | null;
  /** Where tools find the MCP servers of this configuration. */
  readonly mcp: McpSource;
  /** The brain that owns the tools. */
  readonly brain: string;
};

/**
 * @param agent parsed and checked: a listed tool that needs a cage has it
 * @returns the listed tools in listed order
 */
export function createTools(agent: AgentConfig, deps: ToolDeps): readonly Tool[] {
  const wire = wireNames(agent.tools);
  return agent.tools.map((name) => {
    const tool = isMcp(name)
      ? createRemote(name, wire.get(name)!, agent, deps)
      : createTool(name, agent, deps);
    if (tool === null) throw new Error(`the tool ${name} cannot be built from this configuration`);
    return tool;
  });
}

const isMcp = (name: ToolName): name is McpToolName => name.startsWith('mcp.');

function createRemote(
  name: McpToolName,
  wireName: string,
  { mcp }: AgentConfig,
  { mcp: source, brain, steady }: ToolDeps,
): Tool | null {
  const server = mcp.find((one) => name.startsWith(`mcp.${one.name}.`));
  return server === undefined
    ? null
    : createMcpTool({ name, wireName, brain, server, source, steady });
}

function createTool(
  name: Exclude<ToolName, McpToolName>,
  agent: AgentConfig,
  deps: ToolDeps,
): Tool | null {
  switch (name) {
    case 'time':
      return createTime(deps.now);
    case 'echo':
      return createEcho();
    case 'calc':
      return createCalc();
    case 'memory_note':
      return agent.memory && createMemoryNote(agent.memory.noteRunesMax);
    case 'read_file':
      return (
        agent.readFile && createReadFile({ ...agent.readFile, heldDatabase: deps.heldDatabase })
      );
    case 'http_fetch':
      return agent.httpFetch && createHttpFetch(agent.httpFetch, deps);
    case 'webhook_call':
      return agent.webhookCall && createWebhookCall(agent.webhookCall, deps);
    default:
      return name satisfies never;
  }
}
