/** The tools by their names in the configuration: one line each. */
import type { AgentConfig, ToolName } from '../config/config.ts';
import { createCalc } from './calc/calc.ts';
import type { NetworkKit } from './caged-request.ts';
import { createEcho } from './echo.ts';
import { createHttpFetch } from './http-fetch.ts';
import { createMemoryNote } from './memory-note.ts';
import { createReadFile } from './read-file/read-file.ts';
import { createTime } from './time.ts';
import type { Tool } from './tool.ts';
import { createWebhookCall } from './webhook-call.ts';

/** What tools need beside their cages. */
export type ToolKit = NetworkKit & {
  /** The database that this process has open; null: none. */
  readonly heldDatabase: string | null;
};

/**
 * @param agent parsed and checked: a listed tool that needs a cage has it
 * @returns the listed tools in listed order
 */
export function createTools(agent: AgentConfig, kit: ToolKit): readonly Tool[] {
  return agent.tools.map((name) => {
    const tool = createTool(name, agent, kit);
    if (tool === null) throw new Error(`the tool ${name} cannot be built from this configuration`);
    return tool;
  });
}

function createTool(name: ToolName, agent: AgentConfig, kit: ToolKit): Tool | null {
  switch (name) {
    case 'time':
      return createTime(kit.now);
    case 'echo':
      return createEcho();
    case 'calc':
      return createCalc();
    case 'memory_note':
      return agent.memory && createMemoryNote(agent.memory.noteRunesMax);
    case 'read_file':
      return (
        agent.readFile && createReadFile({ ...agent.readFile, heldDatabase: kit.heldDatabase })
      );
    case 'http_fetch':
      return agent.httpFetch && createHttpFetch(agent.httpFetch, kit);
    case 'webhook_call':
      return agent.webhookCall && createWebhookCall(agent.webhookCall, kit);
    default:
      return name satisfies never;
  }
}
