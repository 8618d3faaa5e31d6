import type { Config } from '../../config/config.ts';
import { pinsFileBeside, readPins, type Pins } from '../../config/mcp-pins.ts';
import { ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
import type { Io } from '../cli.ts';
import { readSecrets } from '../frame/boot.ts';
import { isOfMcpServer } from '../../config/secrets.ts';
import { plural } from '../../domain/plural.ts';
import { askServers, nameOf, describeDown, toolLines, type Surveyed } from '../mcp/survey.ts';

/**
 * Each MCP server is asked, as svc mcp list asks it. What has no pin, pins that cannot be read and
 * secrets that are missing are told elsewhere.
 * @param file of the configuration, absolute
 */
export async function mcpLines(
  config: Config,
  file: string,
  io: Io,
): Promise<readonly PreflightLine[]> {
  if (config.brains.every(({ agent }) => agent === null || agent.mcp.length === 0)) return [];
  const read = await readSecrets(config, io, { concerns: isOfMcpServer });
  const pins = await readPins(pinsFileBeside(file));
  if (read.kind === 'refused' || pins.kind === 'unreadable') return [];
  const servers = await askServers(config, read.secrets, io);
  return servers.flatMap((server) => linesOf(server, pins.pins));
}

function linesOf(surveyed: Surveyed['servers'][number], pins: Pins): readonly PreflightLine[] {
  const { server, answer, listed } = surveyed;
  const subject = `MCP server ${server}`;
  if (answer.kind === 'down') {
    const remedy = 'Start or repair the server. Its tools are missing until it answers.';
    return [warning(subject, `is down: ${describeDown(answer)}`, remedy)];
  }
  const tools = toolLines(surveyed, pins).filter(({ tool }) => listed.includes(tool));
  const pinned = tools.filter(({ state }) => state === 'pinned').length;
  const faults = tools.flatMap(({ tool, state, changed }) => {
    const name = nameOf(server, tool);
    if (state === 'changed') {
      const remedy = 'Look at it with svc mcp pin, and pin it only if it is as it should be.';
      const what = `is no longer what was pinned (${changed.join(', ')})`;
      return [warning(name, `${what}, so no agent is told of it`, remedy)];
    }
    if (state !== 'not offered') return [];
    const remedy = 'Take it out of tools, or see svc mcp list for what there is.';
    return [warning(name, 'is not offered by its server, or is too large for a model', remedy)];
  });
  const count = `${pinned} of ${plural(listed.length, 'listed tool')} as pinned`;
  return [ok(subject, `answers; ${count}`), ...faults];
}
