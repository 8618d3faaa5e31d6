/** Checks an agent's tools, their limits, grants and models together. */
import { isHost, isLoopbackHost } from './address.ts';
import type { ProblemList } from './problems.ts';
import { checkServers } from './rules-mcp.ts';
import { hasCloudTag, type KnownModel } from './rank.ts';
import { findKind } from '../channels/registry.ts';
import { checkApprovers } from './rules-approvers.ts';
import { nameOfChannel } from './rules-channels.ts';
import { completionsChannel } from '../domain/ids.ts';
import { nearRemedy, offeredBrains } from './rules-routes.ts';
import { quote } from './quote.ts';
import type { BrainDraft, DraftDocument } from './schema.ts';

type AgentDraft = NonNullable<BrainDraft['agent']>;
type GrantDraft = NonNullable<NonNullable<AgentDraft['governance']>[number]>;
type Tool = NonNullable<NonNullable<AgentDraft['tools']>[number]>;

/** The agent's brain and its path. `ranked`: the models that the brain may use, best first. */
type BrainContext = {
  readonly brain: BrainDraft;
  readonly path: string;
  readonly ranked: readonly KnownModel[];
};

const limitBlocks = [
  ['read_file', 'read_file'],
  ['http_fetch', 'http_fetch'],
  ['webhook_call', 'webhook_call'],
  ['memory_note', 'memory'],
] as const;

/** Adds the problems of one brain's agent. */
export function checkAgent(
  agent: AgentDraft,
  context: BrainContext,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const path = `${context.path}.agent`;
  const tools = toolsOf(agent);
  checkTools(agent, tools, path, problems);
  checkMemory(agent, context, document, problems);
  checkHosts(agent, path, problems);
  checkServers(agent, context.brain, document, path, problems);
  const names = document.channels?.map(nameOfChannel);
  const known = names === undefined || names.includes(undefined) ? null : new Set(names);
  const routed = new Set(routesTo(context.brain, document).map((route) => route.channel));
  const isOffered = offeredBrains(document).includes(context.brain.name);
  const firstGrants: FirstGrants = new Map();
  for (const [index, grant] of (agent.governance ?? []).entries()) {
    if (grant === undefined) continue;
    checkGrant(
      grant,
      { agent, tools, known, routed, isOffered, document },
      `${path}.governance[${index}]`,
      problems,
    );
    checkOverlap(grant, index, firstGrants, `${path}.governance[${index}]`, problems);
  }
  checkApprovers(agent, context.brain, path, document, problems);
  checkReading(agent, context, problems);
  checkLeak(agent, context, document, problems);
}

/** The first index of each tool in the list. A tool that could not be read is `undefined`. */
type Tools = ReadonlyMap<Tool | undefined, number> | undefined;

function toolsOf({ tools }: AgentDraft): Tools {
  if (tools === undefined) return undefined;
  const firsts = new Map<Tool | undefined, number>();
  for (const [index, tool] of tools.entries()) if (!firsts.has(tool)) firsts.set(tool, index);
  return firsts;
}

function checkTools(agent: AgentDraft, firsts: Tools, path: string, problems: ProblemList): void {
  if (firsts === undefined) return;
  for (const [index, tool] of (agent.tools ?? []).entries()) {
    if (tool === undefined || firsts.get(tool) === index) continue;
    const message = 'this tool is listed already';
    problems.add('tool_repeated', `${path}.tools[${index}]`, message, 'Remove one of them.');
  }
  for (const [tool, block] of limitBlocks) {
    const index = firsts.get(tool);
    if (index !== undefined && agent[block] === null) {
      const message = `${tool} may only run within limits, and its block ${block} is missing`;
      const remedy = `Add "${block}": { … } beside tools, or take the tool out.`;
      problems.add('cage_missing', `${path}.tools[${index}]`, message, remedy);
    }
    if (index !== undefined || agent[block] === null || firsts.has(undefined)) continue;
    const message = `this block limits ${tool}, which is not listed in tools`;
    const remedy = `List ${tool}, or remove the block.`;
    problems.addAtKey('cage_without_tool', `${path}.${block}`, message, remedy);
  }
}

function checkMemory(
  agent: AgentDraft,
  { path, ranked }: BrainContext,
  document: DraftDocument,
  problems: ProblemList,
): void {
  if (agent.memory === null || agent.memory === undefined) return;
  if (document.storage === null) {
    const message = 'notes are kept in storage, and there is none';
    const at = `${path}.agent.memory`;
    problems.addAtKey('memory_without_storage', at, message, 'Add "storage": {}.');
  }
  if (agent.memory.scope !== 'brain') return;
  const at = `${path}.agent.memory.scope`;
  for (const [rank, model] of ranked.entries()) {
    const sent = hasCloudTag(model);
    if (model.locality === 'local' && !sent) continue;
    const why = sent ? 'its runtime sends to its vendor' : 'is not local';
    if (rank === 0) {
      const message = `notes of the whole brain would go to ${model.modelId}, which ${why}`;
      const remedy = 'Put a local model first, or write "scope": "conversation".';
      problems.add('brain_scope_not_local', at, message, remedy);
    } else {
      const message = `${model.modelId} is never asked, since notes of the whole brain stay local`;
      const remedy = 'Take the model out, or write "scope": "conversation".';
      problems.add('brain_scope_leaves_out', at, message, remedy);
    }
    return;
  }
}

function checkHosts(agent: AgentDraft, path: string, problems: ProblemList): void {
  for (const block of ['http_fetch', 'webhook_call'] as const) {
    for (const [index, entry] of (agent[block]?.allow_hosts ?? []).entries()) {
      if (entry === undefined) continue;
      const at = `${path}.${block}.allow_hosts[${index}]`;
      const allowed = allowedHost(entry);
      if (allowed === null) {
        const message = 'no host has this name, so it never matches';
        const remedy = 'Write a host name or address alone, or with a port: example.com:8443.';
        problems.add('host_never_matches', at, message, remedy);
      } else if (!allowed.hasPort && isThisMachine(allowed.host)) {
        const message =
          'every service of this machine can be reached, but svc, its database and its servers';
        const remedy = 'Name the port as well: localhost:8080.';
        problems.add('host_without_port', at, message, remedy);
      }
    }
  }
}

/** Reads `name`, `name:port`, or an IPv6 address, which needs brackets for a port. */
function allowedHost(entry: string): { readonly host: string; readonly hasPort: boolean } | null {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry);
  if (match === null) return isHost(entry) ? { host: entry, hasPort: false } : null;
  const host = (match[1] ?? match[2])!;
  const isHostAndPort = isHost(host) && Number(match[3] ?? 0) <= 65_535;
  return isHostAndPort ? { host, hasPort: match[3] !== undefined } : null;
}

/** A connection to an unspecified address reaches this machine, too. */
function isThisMachine(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || isLoopbackHost(host);
}

type GrantContext = {
  readonly agent: AgentDraft;
  readonly tools: Tools;
  /** All channels by name; null: a name could not be read. */
  readonly known: ReadonlySet<string | undefined> | null;
  /** The channels that have a route to the brain. */
  readonly routed: ReadonlySet<string | undefined>;
  /** Clients of the completions API can use the brain. */
  readonly isOffered: boolean;
  readonly document: DraftDocument;
};

function checkGrant(
  grant: GrantDraft,
  context: GrantContext,
  path: string,
  problems: ProblemList,
): void {
  const { tools, isOffered } = context;
  if (grant.tool !== undefined && tools !== undefined && !tools.has(undefined)) {
    if (!tools.has(grant.tool)) {
      const message = 'this grant is for a tool that tools does not list';
      const remedy = `List ${grant.tool} in tools, or remove the grant.`;
      problems.add('grant_unlisted', `${path}.tool`, message, remedy);
    }
  }
  if (grant.channels?.length === 0) {
    const message = 'this grant holds on no channel';
    const remedy = 'Leave channels out for every channel, or name some.';
    problems.add('grant_idle', `${path}.channels`, message, remedy);
  }
  for (const [index, name] of (grant.channels ?? []).entries()) {
    const at = `${path}.channels[${index}]`;
    if (name === completionsChannel) {
      if (grant.mode !== 'ask' || !isOffered) continue;
      const message = 'nobody can be asked on the completions API, so the tool does not run there';
      const remedy = 'Give completions a grant of its own, with "mode": "allow" or "deny".';
      problems.add('ask_unheard', at, message, remedy);
    } else if (name !== undefined) checkGrantedChannel(name, grant, context, at, problems);
  }
}

function checkGrantedChannel(
  name: string,
  grant: GrantDraft,
  { agent, known, routed, document }: GrantContext,
  path: string,
  problems: ProblemList,
): void {
  if (known === null) return;
  if (!known.has(name) && findKind(name) === undefined) {
    const message = `no channel ${quote(name) ?? 'of this name'} is configured`;
    const remedy = (): string => nearRemedy(name, [...known] as string[]);
    return problems.add('unknown_channel', path, message, remedy);
  }
  if (known.has(name) && (routed.has(name) || findKind(name) === undefined)) return;
  // A grant by a type does not hold on a channel of this type that has a name of its own.
  const meant = document.channels?.find((one) => {
    const other = nameOfChannel(one);
    return one?.type === name && routed.has(other) && !isGranted(agent, grant, other);
  });
  const other = nameOfChannel(meant);
  if (!known.has(name)) {
    const message = 'this channel is not configured';
    const remedy = other === undefined ? 'Configure it, or take it out here.' : remedyFor(other);
    problems.add('grant_idle', path, message, remedy);
  } else if (other !== undefined) {
    const message = `${name} has no route to this brain, and the grant does not hold on ${other}`;
    problems.add('grant_idle', path, message, remedyFor(other));
  }
}

const remedyFor = (name: string): string => `Write "${name}" if the grant is for that channel.`;

/** Whether a grant for the same tool holds on the channel. */
function isGranted(agent: AgentDraft, { tool }: GrantDraft, channel: string | undefined): boolean {
  return (agent.governance ?? []).some((one) => {
    if (one?.tool !== tool) return false;
    return one?.channels === null || one?.channels?.includes(channel) === true;
  });
}

/**
 * By tool: the index of the first grant for each channel. `*` is for grants without channels, and
 * `?` for all grants. No channel has such a name.
 */
type FirstGrants = Map<Tool, Map<string, number>>;

function checkOverlap(
  { tool, channels }: GrantDraft,
  index: number,
  firstGrants: FirstGrants,
  path: string,
  problems: ProblemList,
): void {
  // undefined: the channels could not be read. A grant on no channel overlaps with no other.
  if (tool === undefined || channels === undefined || channels?.length === 0) return;
  const firsts = firstGrants.get(tool) ?? new Map<string, number>();
  firstGrants.set(tool, firsts);
  const ownKeys = channels?.filter((channel) => channel !== undefined) ?? ['*'];
  const overlapping = channels === null ? ['?'] : ['*', ...ownKeys];
  const first = Math.min(...[...new Set(overlapping)].map((one) => firsts.get(one) ?? Infinity));
  for (const one of ['?', ...ownKeys]) if (!firsts.has(one)) firsts.set(one, index);
  if (first === Infinity) return;
  const message = `governance[${first}] is for the same tool on the same channel`;
  const remedy = 'Keep one of them, or give each its own channels.';
  problems.add('grants_overlap', path, message, remedy);
}

/** Any model may see the files that the agent reads: when a model fails, the next continues. */
function checkReading(agent: AgentDraft, context: BrainContext, problems: ProblemList): void {
  const { path, ranked } = context;
  const toolIndex = agent.tools?.indexOf('read_file') ?? -1;
  // With notes of the whole brain, svc asks no cloud model after a local one.
  const askedModels = agent.memory?.scope === 'brain' ? ranked.slice(0, 1) : ranked;
  const cloud = askedModels.find(({ locality }) => locality !== 'local');
  if (toolIndex < 0 || cloud === undefined) return;
  const message = `what read_file reads is sent to ${cloud.modelId}, a cloud model`;
  const remedy = 'Use local models, or make sure that root holds nothing private.';
  problems.add('agent_reads_to_cloud', `${path}.agent.tools[${toolIndex}]`, message, remedy);
}

/**
 * Warns of an agent that reads private sources, can send data out, and hears strangers: a message
 * could make it leak the sources. A page that it fetches could, too, since strangers write pages.
 */
function checkLeak(
  agent: AgentDraft,
  { brain, path }: BrainContext,
  document: DraftDocument,
  problems: ProblemList,
): void {
  for (const { name, isForAll } of heardChannels(brain, document)) {
    const listedMcpTools = (agent.tools ?? []).filter((tool) => tool?.startsWith('mcp.') === true);
    const mcpTools = listedMcpTools.filter((tool) => runsUnasked(agent, tool!, name)) as Tool[];
    const fetches = runsUnasked(agent, 'http_fetch', name);
    if (!isForAll && !fetches && mcpTools.length === 0) continue;
    const sources = (['read_file', 'memory_note'] as const).filter(
      (tool) =>
        runsUnasked(agent, tool, name) && (tool === 'read_file' || name !== completionsChannel),
    );
    const limitedExits = (['http_fetch', 'webhook_call'] as const).filter((tool) =>
      runsUnasked(agent, tool, name),
    );
    const exits = [...limitedExits, ...mcpTools];
    if (sources.length === 0 || exits.length === 0) continue;
    const [sourceText, exitText] = [sources.join(' and '), exits.join(' and ')];
    const untrusted = [
      ...(isForAll ? [`a message on ${name}`] : []),
      ...(fetches ? ['a page'] : []),
      ...(mcpTools.length > 0 ? ['an MCP server'] : []),
    ];
    const speakers = untrusted.join(' or ');
    const message = `${speakers} could make the agent send what ${sourceText} gives by ${exitText}`;
    const remedy = 'Split the tools over two brains, or deny one side on this channel.';
    problems.add('agent_can_leak', `${path}.agent.tools`, message, remedy);
  }
}

/** The channels that the brain answers. `isForAll`: strangers may write there. */
function heardChannels(brain: BrainDraft, document: DraftDocument) {
  const ownRoutes = Map.groupBy(routesTo(brain, document), ({ channel }) => channel);
  const heard = [...ownRoutes].flatMap(([name, routes]) => {
    const channel = document.channels?.find((candidate) => nameOfChannel(candidate) === name);
    if (name === undefined || channel === undefined) return [];
    const isForAll =
      channel.access?.allow == null && routes.some(({ when }) => when?.senders == null);
    return [{ name, isForAll }];
  });
  if (!document.completions || !offeredBrains(document).includes(brain.name)) return heard;
  return [...heard, { name: completionsChannel as string, isForAll: true }];
}

/** The brain's routes. A brain whose name could not be read has none. */
function routesTo({ name }: BrainDraft, { routes }: DraftDocument) {
  const known = (routes ?? []).filter((route) => route !== undefined);
  return name === undefined ? [] : known.filter(({ brain }) => brain === name);
}

/**
 * Whether the tool may run on a channel without asking a person. A governance block without a grant
 * for the tool denies it.
 */
function runsUnasked(agent: AgentDraft, tool: Tool, channel: string): boolean {
  if (agent.tools?.includes(tool) !== true) return false;
  const grants = agent.governance ?? [];
  return (
    grants.length === 0 ||
    grants.some((grant) => {
      if (grant?.tool !== tool || grant.mode !== 'allow') return false;
      return grant.channels === null || grant.channels?.includes(channel) === true;
    })
  );
}
