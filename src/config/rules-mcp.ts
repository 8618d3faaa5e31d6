/** Checks the MCP servers of an agent together with its tools and its brain. */
import { rangeOf } from '../lib/ip-address.ts';
import { isLoopbackHost, parseWebAddress } from './address.ts';
import type { ProblemList } from './problems.ts';
import type { BrainDraft, DraftDocument } from './schema.ts';

type AgentDraft = NonNullable<BrainDraft['agent']>;
type ServerDraft = NonNullable<NonNullable<AgentDraft['mcp']>[number]>;

/** Adds the problems of one agent's servers. @param path the path of the agent */
export function checkServers(
  agent: AgentDraft,
  brain: BrainDraft,
  { brains }: DraftDocument,
  path: string,
  problems: ProblemList,
): void {
  const servers = agent.mcp ?? [];
  const names = new Set<string>();
  const used = new Set((agent.tools ?? []).map((tool) => serverOf(tool ?? '')));
  for (const [index, server] of servers.entries()) {
    if (server === undefined) continue;
    const at = `${path}.mcp[${index}]`;
    checkReach(server, brain, at, problems);
    const { name } = server;
    if (name === undefined) continue;
    if (names.has(name)) {
      const message = 'another server of this agent has this name';
      problems.add('mcp_server_twice', `${at}.name`, message, 'Give each a name of its own.');
    } else if (!used.has(name)) {
      const message = `tools lists nothing of ${name}, so it is of no use`;
      const remedy = `List what is wanted, as mcp.${name}.<tool>, or remove the server.`;
      problems.add('mcp_server_idle', at, message, remedy);
    }
    names.add(name);
    if (differsFromEarlier(server, brain, brains ?? [])) {
      const message = `another agent has a server ${name} that is another one`;
      const remedy = 'Give each a name of its own: pins go by the name.';
      problems.add('mcp_server_twice', `${at}.name`, message, remedy);
    }
  }
  if (agent.mcp === undefined || servers.some((one) => one?.name === undefined)) return;
  for (const [index, tool] of (agent.tools ?? []).entries()) {
    const server = serverOf(tool ?? '');
    if (server === null || names.has(server)) continue;
    const message = `there is no server ${server} in mcp`;
    const remedy = 'Add it to mcp beside tools, or take the tool out.';
    problems.add('mcp_unknown_server', `${path}.tools[${index}]`, message, remedy);
  }
}

/** Whether an earlier brain has another server of this name. Only the later one is reported. */
function differsFromEarlier(
  { name, command, url, env, token_env: token }: ServerDraft,
  brain: BrainDraft,
  brains: NonNullable<DraftDocument['brains']>,
): boolean {
  const earlierBrains = brains.slice(0, Math.max(0, brains.indexOf(brain)));
  const others = earlierBrains.flatMap((one) => one?.agent?.mcp ?? []);
  const ownSetup = JSON.stringify([command, url, env, token]);
  return others.some(
    (one) =>
      one?.name === name &&
      JSON.stringify([one?.command, one?.url, one?.env, one?.token_env]) !== ownSetup,
  );
}

/** The server of `mcp.<server>.<tool>`; null: this is a tool of svc. */
export function serverOf(tool: string): string | null {
  return /^mcp\.([^.]+)\./.exec(tool)?.[1] ?? null;
}

function checkReach(
  server: ServerDraft,
  brain: BrainDraft,
  at: string,
  problems: ProblemList,
): void {
  const { command, url, token_env: token, env } = server;
  if (command === undefined || url === undefined) return;
  if ((command === null) === (url === null)) {
    const message = command === null ? 'it has no command and no url' : 'it has both of them';
    const remedy = 'Write command for a program that svc starts, or url for a server that runs.';
    problems.add('mcp_reach', at, message, remedy);
    return;
  }
  if (url === null) {
    if (command?.[0] === '') {
      const message = 'the program is empty';
      problems.add('required', `${at}.command[0]`, message, 'Write the program first.');
    }
    if (typeof token === 'string') {
      const remedy = 'Give it to the program in env.';
      problems.addAtKey('not_here', `${at}.token_env`, 'a command has no bearer token', remedy);
    }
    return;
  }
  if (env !== undefined && Object.keys(env).length > 0) {
    const message = 'a server at a url has no environment of ours';
    problems.addAtKey('not_here', `${at}.env`, message, 'Remove it.');
  }
  checkUrl(url, brain, at, problems);
}

/** A name may lead to any address. At each request svc checks the connected address again. */
function checkUrl(url: string, brain: BrainDraft, at: string, problems: ProblemList): void {
  const address = parseWebAddress(url);
  if (address === null) return;
  const { host, isSecure } = address;
  if (isLoopbackHost(host)) return;
  if (!isSecure) {
    const message = 'what the agent asks and is told would go over the network without encryption';
    problems.add('mcp_far', `${at}.url`, message, 'Write an https address.');
  } else if (brain.sensitivity === 'private' && rangeOf(host) === 'public') {
    const message = 'a private brain uses servers of this machine and its private networks alone';
    problems.add('mcp_far', `${at}.url`, message, 'Use a server that runs there.');
  }
}
