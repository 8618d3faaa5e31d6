/** Checks routes between channels and brains, addresses of listeners, and approvers. */
import { shortList, namesMax, quote } from './quote.ts';
import { nearest } from './nearest.ts';
import type { ProblemList } from './problems.ts';
import type { DraftDocument, BrainDraft } from './schema.ts';
import { kindOf, findKind } from '../channels/registry.ts';
import { isBrowserRefused, overlap, parseListenAddress, type ListenAddress } from './address.ts';
import { parseApprover } from './config.ts';
import { addressFlags, type OwnAddresses } from './own-addresses.ts';

/** The most names that svc compares with an unknown name. */
const comparedNamesMax = 100;

/** Adds the problems of duplicate names, unknown names, and names without a route. */
export function checkRoutes(document: DraftDocument, problems: ProblemList): void {
  const channels = document.channels?.map((channel) => channel?.type);
  const brains = document.brains?.map((brain) => brain?.name);
  findDuplicates(channels ?? [], (name, index, first) => {
    const message = `${name} is configured already, by channels[${first}]`;
    const remedy = 'Keep one channel of each type.';
    problems.add('duplicate_channel', `channels[${index}].type`, message, remedy);
  });
  findDuplicates(brains ?? [], (_name, index, first) => {
    const message = `brains[${first}] has this name already`;
    problems.add('duplicate_brain', `brains[${index}].name`, message, 'Give it another name.');
  });
  checkTargets(document, channels, brains, problems);
  checkDuplicateRoutes(document, problems);
  const routes = document.routes;
  if (routes === undefined || routes.some((route) => route === undefined)) return;
  warnUnused(
    channels,
    routes.map((route) => route?.channel),
    'channel',
    problems,
  );
  warnUnused(
    brains,
    routes.map((route) => route?.brain),
    'brain',
    problems,
  );
}

type Names = readonly (string | undefined)[] | undefined;

function checkTargets(
  { routes }: DraftDocument,
  channels: Names,
  brains: Names,
  problems: ProblemList,
): void {
  const [channelsKnown, brainsKnown] = [completeNames(channels), completeNames(brains)];
  for (const [index, route] of (routes ?? []).entries()) {
    if (isUnknown(route?.channel, channelsKnown)) {
      const message = `no channel ${quote(route?.channel ?? '') ?? 'of this type'} is configured`;
      const remedy = (): string => `Configure it, or write one of: ${listOf(channelsKnown)}.`;
      problems.add('unknown_channel', `routes[${index}].channel`, message, remedy);
    }
    if (isUnknown(route?.brain, brainsKnown)) {
      const message = `no brain has the name ${quote(route?.brain ?? '') ?? 'that stands here'}`;
      const remedy = (): string => {
        const near = nearest(route?.brain ?? '', namesOf(brainsKnown, comparedNamesMax));
        return near === null ? `Write one of: ${listOf(brainsKnown)}.` : `Did you mean ${near}?`;
      };
      problems.add('unknown_brain', `routes[${index}].brain`, message, remedy);
    }
  }
}

/** All names; null when one could not be read, and then no route to these names is checked. */
function completeNames(names: Names): ReadonlySet<string> | null {
  const known = new Set(names);
  return names === undefined || known.has(undefined) ? null : (known as ReadonlySet<string>);
}

function isUnknown(name: string | undefined, names: ReadonlySet<string> | null): boolean {
  return name !== undefined && names !== null && !names.has(name);
}

function namesOf(names: ReadonlySet<string> | null, most: number): readonly string[] {
  return [...(names ?? [])].slice(0, most);
}

function listOf(names: ReadonlySet<string> | null): string {
  return shortList(namesOf(names, namesMax), names?.size ?? 0);
}

function checkDuplicateRoutes({ routes }: DraftDocument, problems: ProblemList): void {
  const brainOf = new Map<string, { brain: string; index: number }>();
  for (const [index, route] of (routes ?? []).entries()) {
    const { channel, brain } = route ?? {};
    if (channel === undefined || brain === undefined) continue;
    const first = brainOf.get(channel);
    if (first === undefined) brainOf.set(channel, { brain, index });
    else if (first.brain === brain) {
      const message = `routes[${first.index}] says the same`;
      problems.add('route_repeated', `routes[${index}]`, message, 'Remove one of them.');
    } else {
      const message = `routes[${first.index}] gives this channel to another brain`;
      const remedy = 'Keep one route for each channel.';
      problems.add('routed_twice', `routes[${index}].brain`, message, remedy);
    }
  }
}

function warnUnused(
  names: Names,
  used: readonly (string | undefined)[],
  what: 'channel' | 'brain',
  problems: ProblemList,
): void {
  const seen = new Set(used);
  if (seen.has(undefined)) return;
  for (const [index, name] of (names ?? []).entries()) {
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    const message = `no route names this ${what}, so it is not started`;
    const remedy = 'Add a route for it, or remove it.';
    problems.add(`${what}_without_route`, `${what}s[${index}]`, message, remedy);
  }
}

function findDuplicates(
  names: readonly (string | undefined)[],
  report: (name: string, index: number, first: number) => void,
): void {
  const firsts = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, index);
    else report(name, index, first);
  }
}

// The addresses where a configuration listens.

/** The most listeners to compare with. More need a second webhook, which is a problem anyway. */
const comparedListenersMax = 10;

/** A channel that listens, with its blocks by name. */
type ListenerDraft = Readonly<Record<string, { readonly bind?: string } | null | undefined>>;

type ListenerField = {
  /** The path of the field, even if a flag replaces it. */
  readonly path: string;
  /** The listener's name in messages. */
  readonly what: string;
  /** null: the field is wrong, and a problem has been added. */
  readonly address: ListenAddress | null;
  /** The flag that replaces the field; null: none. */
  readonly flag: string | null;
};

export function checkListeners(
  document: DraftDocument,
  own: OwnAddresses,
  problems: ProblemList,
): void {
  const earlier: (ListenerField & { readonly address: ListenAddress })[] = [];
  for (const field of listenerFields(document, own)) {
    const { address, path, what, flag } = field;
    if (address === null) continue;
    const via = flag === null ? '' : ` (${flag})`;
    if (!address.loopback) {
      const message = `other machines can reach ${what}${via}, and nothing encrypts what they send`;
      const remedy = 'Bind to 127.0.0.1, with a reverse proxy that terminates TLS in front.';
      problems.add('not_loopback', path, message, remedy);
    }
    if (isBrowserRefused(address.port)) {
      const message = `browsers refuse to connect to port ${address.port}${via}`;
      problems.add('browser_port', path, message, 'Choose another port.');
    }
    const other = earlier
      .slice(0, comparedListenersMax)
      .find((one) => overlap(one.address, address));
    if (other !== undefined) {
      const flags = [other.flag, flag].filter((one) => one !== null);
      const flagNames = flags.length === 0 ? '' : ` (${flags.join(', ')})`;
      const message = `the webhook and the admin server would listen on one address${flagNames}`;
      problems.add('address_twice', path, message, 'Give one of them another port.');
    }
    earlier.push({ ...field, address });
  }
  checkFlags(document, own, problems);
}

function listenerFields(
  { channels, observability }: DraftDocument,
  own: OwnAddresses,
): ListenerField[] {
  const fields: ListenerField[] = [];
  for (const [index, channel] of (channels ?? []).entries()) {
    const listener = channel?.type && kindOf(channel.type).listener;
    if (!listener) continue;
    const { bind } = (channel as ListenerDraft)[listener.block] ?? {};
    const path = `channels[${index}].${listener.block}.bind`;
    fields.push({ path, what: `the ${channel.type}`, ...addressAndFlag('webhook', own, bind) });
  }
  if (observability?.enabled === true) {
    const at = addressAndFlag('admin', own, observability.addr);
    fields.push({ path: 'observability.addr', what: 'the admin server', ...at });
  }
  return fields;
}

function addressAndFlag(
  which: keyof OwnAddresses,
  own: OwnAddresses,
  text: string | undefined,
): Pick<ListenerField, 'address' | 'flag'> {
  const address = own[which];
  if (address !== null) return { address, flag: addressFlags[which] };
  return { address: text === undefined ? null : parseListenAddress(text, true), flag: null };
}

/** Warns of flags without effect. */
function checkFlags(
  { channels, observability }: DraftDocument,
  { webhook, admin }: OwnAddresses,
  problems: ProblemList,
): void {
  const listens = channels?.some((one) => one?.type === undefined || kindOf(one.type).listener);
  if (webhook !== null && listens === false) {
    const message = `no channel listens, and ${addressFlags.webhook} has no effect`;
    problems.add('flag_unused', 'channels', message, 'Leave the flag out, or add a webhook.');
  }
  if (admin !== null && observability?.enabled === false) {
    const message = `the admin server is off, and ${addressFlags.admin} does not switch it on`;
    const remedy = 'Leave the flag out, or set observability.enabled to true.';
    problems.add('flag_unused', 'observability.enabled', message, remedy);
  }
}

// The approvers of an agent.
type AgentDraft = NonNullable<BrainDraft['agent']>;
type ChannelsDraft = DraftDocument['channels'];

/**
 * Adds the problems of an agent's approvers: svc cannot reach them, or shows them too much.
 * @param path the path of the agent
 */
export function checkApprovers(
  agent: AgentDraft,
  brain: Pick<BrainDraft, 'name' | 'sensitivity'>,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const { channels } = document;
  const approvers = agent.approvers ?? [];
  const asks = agent.governance?.some((grant) => grant === undefined || grant.mode === 'ask');
  if (approvers.length > 0 && agent.governance !== undefined && asks !== true) {
    const message = 'nobody is asked for a yes: no grant has the mode ask';
    const remedy = 'Write "mode": "ask" in a grant, or take approvers out.';
    problems.addAtKey('approvers_idle', `${path}.approvers`, message, remedy);
  }
  if (brain.sensitivity === 'private' && agent.approval_text === 'full' && asks === true) {
    const index = approvers.findIndex((text) => learnsMore(text, brain, document));
    if (index >= 0) {
      const message = 'the platform of this approver sees the arguments of a private brain’s calls';
      const remedy = 'Write "approval_text": "notice" in the agent to send no arguments there.';
      problems.add('approver_sees_private', `${path}.approvers[${index}]`, message, remedy);
    }
  }
  for (const [index, text] of approvers.entries()) {
    if (text !== undefined) checkApprover(text, `${path}.approvers[${index}]`, channels, problems);
  }
}

/** Whether the approver's messenger is configured, and not the brain's only channel. */
function learnsMore(
  text: string | undefined,
  { name }: Pick<BrainDraft, 'name'>,
  { channels, routes }: DraftDocument,
): boolean {
  const type = text === undefined ? undefined : parseApprover(text)?.channel;
  if (type === undefined || findKind(type)?.isMessenger !== true) return false;
  if (channels?.some((one) => one?.type === type) !== true) return false;
  return routes?.some((one) => one?.brain === name && one?.channel !== type) === true;
}

function checkApprover(
  text: string,
  path: string,
  channels: ChannelsDraft,
  problems: ProblemList,
): void {
  const approver = parseApprover(text);
  if (approver === null) return;
  const { channel: type, user } = approver;
  const written = text.slice(0, text.indexOf(':'));
  if (findKind(type)?.isMessenger !== true) {
    const message = `nobody can be asked on ${written}, which is no messenger`;
    const remedy = 'Name a person of a messenger, or leave the yes to the operator.';
    return problems.add('approver_unreached', path, message, remedy);
  }
  if (channels === undefined) return;
  const channel = channels.find((one) => one?.type === type);
  if (channel === undefined) {
    if (channels.some((one) => one?.type === undefined)) return;
    const message = `${written} is not configured, so nobody is asked there`;
    const remedy = 'Configure it, or take this approver out.';
    return problems.add('approver_unreached', path, message, remedy);
  }
  const { allow, pairing } = channel.access ?? { allow: null, pairing: false };
  if (allow == null || pairing !== false || allow.includes(user)) return;
  const message = `the access of ${written} does not let this person in`;
  const remedy = `Add "${user}" to access.allow of that channel.`;
  problems.add('approver_turned_away', path, message, remedy);
}
