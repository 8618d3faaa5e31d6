/**
 * A server of tools from elsewhere. Agents use its tools one by one, as an operator listed and
 * pinned them; nothing that the server says gives it a right.
 *
 * It promises: `definition` and `call` do not wait for its start, and do not throw. If the server
 * fails, the running calls end, and svc connects again later by itself.
 */
import type { McpServerConfig } from '../../../config/config.ts';
import type { McpHealth } from '../../../domain/tool-use.ts';
import type { ToolResult } from '../tool.ts';
import type { Definition } from './definition.ts';

export interface McpServer {
  readonly config: McpServerConfig;
  /** A listed tool that the server offers exactly as pinned; null: it must not be announced. */
  definition(tool: string): PinnedDefinition | null;
  call(tool: string, args: Record<string, unknown>, options: McpCall): Promise<ToolResult>;
  standing(): McpHealth;
}

export type PinnedDefinition = Definition & {
  /** From its pin: whether a call changes something elsewhere. */
  readonly effect: boolean;
};

export type McpCall = {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** For a private turn: a server that is not certainly near is not called. */
  readonly nearOnly: boolean;
};

/** Finds the servers of an agent's tools. */
export interface McpSource {
  find(brain: string, server: string): McpServer | null;
}
