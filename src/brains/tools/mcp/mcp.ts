/**
 * A server of tools from elsewhere. Its tools are used one by one, as an operator has listed and
 * pinned them; nothing that it says gives it a right.
 *
 * What it promises: `definition` and `call` do not wait for its start, and do not throw; what it
 * breaks is over for the calls under way, and is tried again later, on its own.
 */
import type { McpServerConfig } from '../../../config/config.ts';
import type { McpStanding } from '../../../domain/tool-use.ts';
import type { ToolResult } from '../tool.ts';
import type { Definition } from './definition.ts';

export interface McpServer {
  readonly config: McpServerConfig;
  /** A listed tool that is here and is what was pinned; null: it is not to be announced. */
  definition(tool: string): PinnedDefinition | null;
  call(tool: string, args: Record<string, unknown>, options: McpCall): Promise<ToolResult>;
  standing(): McpStanding;
}

export type PinnedDefinition = Definition & {
  /** By its pin: whether a call of it changes something elsewhere. */
  readonly effect: boolean;
};

export type McpCall = {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Of a private turn: what is not certainly near is not asked. */
  readonly nearOnly: boolean;
};

/** Where the tools of an agent find their server. */
export interface McpSource {
  find(brain: string, server: string): McpServer | null;
}
