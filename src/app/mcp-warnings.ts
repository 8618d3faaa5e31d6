/** What keeps listed tools of MCP servers from being announced, as warnings of the status. */
import type { WarningStatus } from '../admin/admin.ts';
import type { Config } from '../config/config.ts';
import { problemWithoutPlace } from '../config/problems.ts';
import type { ConfigSnapshot } from './config/prepare.ts';
import type { McpStanding, McpToolState } from '../domain/mcp.ts';

/** The warnings of a configuration; what is pinned by now is told by the servers themselves. */
export function withMcp(
  { warnings, used }: { warnings: readonly WarningStatus[]; used: Pick<ConfigSnapshot, 'config'> },
  standings: readonly McpStanding[],
): readonly WarningStatus[] {
  const others = warnings.filter(({ code }) => code !== 'mcp_unpinned');
  return [...others, ...mcpWarnings(standings, used.config)];
}

function mcpWarnings(
  standings: readonly McpStanding[],
  { brains }: Pick<Config, 'brains'>,
): readonly WarningStatus[] {
  return standings.flatMap(({ brain, server, state, reason, tools }) => {
    const path = `brains[${brains.findIndex(({ name }) => name === brain)}].agent.mcp`;
    if (state === 'down') {
      const message = `the MCP server ${server} of the brain ${brain} is down: ${reason}`;
      const remedy = 'svc tries again by itself; svc mcp list asks it now.';
      return [problemWithoutPlace('mcp_down', path, message, remedy)];
    }
    return tools.flatMap(({ tool, state: own }) => {
      const [what, remedy] = [said[own], remedies[own]];
      if (what === null) return [];
      const message = `mcp.${server}.${tool} ${what}, so the agent ${brain} is not told of it`;
      return [problemWithoutPlace('mcp_unannounced', path, message, remedy)];
    });
  });
}

const said: Readonly<Record<McpToolState, string | null>> = {
  announced: null,
  waiting: null,
  missing: 'is not offered by its server, or is too large for a model',
  not_pinned: 'is not pinned',
  changed: 'is no longer what was pinned',
};

const remedies: Readonly<Record<McpToolState, string>> = {
  announced: '',
  waiting: '',
  missing: 'Take it out of tools, or see svc mcp list for what there is.',
  not_pinned: 'Run svc mcp pin, which shows what the server says of it.',
  changed: 'Look at it with svc mcp pin, and pin it only if it is as it should be.',
};
