/** Shared by the commands for MCP servers: asks each server once and reads the pins. */
import type { Config, Secrets } from '../../config/config.ts';
import { changesSince, pinsFileBeside, readPins, type Pins } from '../../config/mcp-pins.ts';
import { isOfMcpServer } from '../../config/secrets.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock } from '../../lib/clock.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { surveyMcp, type SurveyedServer } from '../../app/mcp-survey.ts';
import { createServiceDeps } from '../../app/service.ts';
import { exitCode, type Io } from '../cli.ts';
import { createCommandLog, readConfig, readSecrets } from '../frame/boot.ts';
import { useConfigFile } from '../frame/config-file.ts';

export type Surveyed = {
  readonly servers: readonly SurveyedServer[];
  readonly pins: Pins;
  readonly pinsFile: string;
};

/** @returns the exit code if the servers cannot be asked; the reason was printed */
export async function survey(given: string | null, io: Io): Promise<Surveyed | number> {
  const read = await readConfig(useConfigFile(given, io), io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { config, inspection } = read;
  const secrets = await readSecrets(config, io, { concerns: isOfMcpServer });
  if (secrets.kind === 'refused') {
    io.stderr.write(secrets.report);
    return exitCode.config;
  }
  const pinsFile = pinsFileBeside(inspection.file);
  const pins = await readPins(pinsFile);
  if (pins.kind === 'unreadable') {
    io.stderr.write(`${pins.why}. Give yourself the right to read it, or move it away.\n`);
    return exitCode.failed;
  }
  const servers = await askServers(config, secrets.secrets, io);
  if (servers.length === 0) {
    io.stderr.write('No agent of the configuration lists an MCP server.\n');
    return exitCode.failed;
  }
  return { servers, pins: pins.pins, pinsFile };
}

export async function askServers(
  { brains }: Config,
  secrets: Secrets,
  io: Io,
): Promise<readonly SurveyedServer[]> {
  const log = createCommandLog(io, 'error');
  log.scrub(secrets.values());
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  try {
    return await surveyMcp(brains, secrets, deps, io.stop);
  } finally {
    await deps.http.close();
  }
}

export type ToolLine = {
  readonly tool: string;
  readonly state: 'pinned' | 'changed' | 'not pinned' | 'not offered' | 'unknown' | 'not listed';
  /** The parts that differ from the pinned ones. */
  readonly changed: readonly string[];
};

/** Every tool of a server. The tools that agents list come first. */
export function toolLines({ server, listed, answer }: SurveyedServer, pins: Pins): ToolLine[] {
  const own = pins.get(server);
  const lines = listed.map((tool): ToolLine => {
    if (answer.kind === 'down') return { tool, state: 'unknown', changed: [] };
    const definition = answer.definitions.get(tool);
    if (definition === undefined) return { tool, state: 'not offered', changed: [] };
    const pin = own?.get(tool);
    if (pin === undefined) return { tool, state: 'not pinned', changed: [] };
    const changed = changesSince(pin, definition);
    if (changed === null) return { tool, state: 'pinned', changed: [] };
    return { tool, state: 'changed', changed };
  });
  if (answer.kind === 'down') return lines;
  const others = [...answer.definitions.keys()].filter((tool) => !listed.includes(tool));
  return [
    ...lines,
    ...others.map((tool): ToolLine => ({ tool, state: 'not listed', changed: [] })),
  ];
}

/** Why a server is down, and the last output of its program. */
export function describeDown({ reason, said }: { reason: string; said: string | null }): string {
  return said === null ? reason : `${reason}; it wrote: ${said}`;
}

/** Without characters that could drive a terminal. */
export const nameOf = (server: string, tool: string): string => plainLine(`mcp.${server}.${tool}`);
