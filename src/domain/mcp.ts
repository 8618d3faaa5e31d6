/** How the MCP servers of agents stand, and their tools: nothing of what a server says. */

export const mcpServerStates = ['starting', 'up', 'down', 'ended'] as const;
export type McpServerState = (typeof mcpServerStates)[number];

/**
 * `waiting`: its server is not up. `missing`: the server does not offer it, or its definition is
 * too large. `changed`: it is not what was pinned.
 */
export const mcpToolStates = ['announced', 'waiting', 'missing', 'not_pinned', 'changed'] as const;
export type McpToolState = (typeof mcpToolStates)[number];

export type McpStanding = {
  readonly brain: string;
  readonly server: string;
  readonly kind: 'command' | 'url';
  readonly state: McpServerState;
  /** Why it is down; null: it is not. */
  readonly reason: string | null;
  readonly tools: readonly { readonly tool: string; readonly state: McpToolState }[];
};
