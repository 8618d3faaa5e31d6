/** Checks the names and tokens of channels, and the addresses where they and svc itself listen. */
import { findKind, kindOf } from '../channels/registry.ts';
import { completionsChannel } from '../domain/ids.ts';
import { isBrowserRefused, overlap, parseListenAddress, type ListenAddress } from './address.ts';
import { addressFlags, ownAddressOf, type OwnAddresses } from './own-addresses.ts';
import type { ProblemList } from './problems.ts';
import type { ChannelDraft, DraftDocument } from './schema.ts';

/** The channel's registered name; undefined: it could not be read, or no channel may have it. */
export function nameOfChannel(channel: ChannelDraft | undefined): string | undefined {
  if (channel?.name == null) return channel?.name === null ? channel.type : undefined;
  return isReserved(channel.name, channel.type) ? undefined : channel.name;
}

/** A type is the name of a channel of this type only. */
function isReserved(name: string, type: string | undefined): boolean {
  return name === (completionsChannel as string) || (findKind(name) !== undefined && name !== type);
}

/** Adds the problems of names that no channel may have, and of names and tokens of two. */
export function checkChannelNames({ channels }: DraftDocument, problems: ProblemList): void {
  const byName = new Map<string, number>();
  const byToken = new Map<string, number>();
  for (const [index, channel] of (channels ?? []).entries()) {
    if (channel === undefined) continue;
    checkName(channel, index, byName, problems);
    const { type, token_env: token } = channel;
    if (type === undefined || token === undefined || !kindOf(type).isMessenger) continue;
    const first = byToken.get(token);
    if (first === undefined) byToken.set(token, index);
    else {
      const message = `channels[${first}] has this token, and each bot needs its own`;
      const remedy = 'Name another variable, with the token of another bot.';
      problems.add('token_shared', `channels[${index}].token_env`, message, remedy);
    }
  }
}

function checkName(
  channel: ChannelDraft,
  index: number,
  firsts: Map<string, number>,
  problems: ProblemList,
): void {
  const { type, name: written } = channel;
  if (written != null && isReserved(written, type)) {
    if (type === undefined && written !== completionsChannel) return;
    const message =
      written === completionsChannel
        ? 'svc keeps this name for the completions API'
        : 'this is another type, and no name';
    const remedy = 'Choose another name, such as support.';
    return problems.add('name_reserved', `channels[${index}].name`, message, remedy);
  }
  const name = nameOfChannel(channel);
  if (name === undefined) return;
  const first = firsts.get(name);
  if (first === undefined) return void firsts.set(name, index);
  if (name === type) {
    const message = `${name} is configured already, by channels[${first}]`;
    const remedy =
      'Give the second one a `name`. The first one would lose its memory by a name, since it ' +
      'would be a new channel.';
    problems.add('duplicate_channel', `channels[${index}].type`, message, remedy);
  } else {
    const message = `channels[${first}] has this name already`;
    problems.add('duplicate_channel', `channels[${index}].name`, message, 'Give it another name.');
  }
}

// The addresses where a configuration listens.

/** The most listeners to compare with. */
const comparedListenersMax = 100;

/** A channel that listens, with its blocks by name. */
type ListenerDraft = Readonly<
  Record<string, { readonly bind?: string; readonly path?: string } | null | undefined>
>;

type ListenerField = {
  /** The path of the field, even if a flag replaces it. */
  readonly path: string;
  /** The listener's name in messages. */
  readonly what: string;
  /** null: the field is wrong, and a problem has been added. */
  readonly address: ListenAddress | null;
  /** The flag that replaces the field; null: none. */
  readonly flag: string | null;
  /** The path of its requests; null: it shares its address with no other listener. */
  readonly urlPath: string | null;
};

type Listener = ListenerField & { readonly address: ListenAddress };

export function checkListeners(
  document: DraftDocument,
  own: OwnAddresses,
  problems: ProblemList,
): void {
  const earlier: Listener[] = [];
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
    const listener = { ...field, address };
    checkPlace(earlier.slice(0, comparedListenersMax), listener, problems);
    earlier.push(listener);
  }
  checkFlags(document, own, problems);
}

/** Two webhooks may share one address with different paths. */
function checkPlace(earlier: readonly Listener[], one: Listener, problems: ProblemList): void {
  const { address, path, urlPath, flag } = one;
  const other = earlier.find(
    (listener) => overlap(listener.address, address) && !sharesAddress(listener, one),
  );
  if (other === undefined) return;
  const flags = [...new Set([other.flag, flag])].filter((name) => name !== null);
  const flagNames = flags.length === 0 ? '' : ` (${flags.join(', ')})`;
  const both = `${other.what} and ${one.what}`;
  if (urlPath !== null && other.urlPath === urlPath && isSame(other.address, address)) {
    const place = `${address.text}${urlPath}`;
    const message = `${both} would have one address and path${flagNames}: ${place}`;
    problems.add('address_twice', path, message, 'Give one of them another path or port.');
    return;
  }
  const texts = [...new Set([other.address.text, address.text])].join(' and ');
  const message = `${both} would listen on one address${flagNames}: ${texts}`;
  problems.add('address_twice', path, message, 'Give one of them another port.');
}

function sharesAddress(one: Listener, other: Listener): boolean {
  if (one.urlPath === null || other.urlPath === null) return false;
  return one.urlPath !== other.urlPath && isSame(one.address, other.address);
}

/** Whether the system sees one address: such listeners share one socket. */
function isSame(one: ListenAddress, other: ListenAddress): boolean {
  return one.port === other.port && one.host.toLowerCase() === other.host.toLowerCase();
}

function listenerFields(
  { channels, observability, completions }: DraftDocument,
  own: OwnAddresses,
): ListenerField[] {
  const fields: ListenerField[] = [];
  const count = (channels ?? []).filter(mayListen).length;
  for (const [index, channel] of (channels ?? []).entries()) {
    const listener = channel?.type && kindOf(channel.type).listener;
    if (!listener) continue;
    const { bind, path: urlPath } = (channel as ListenerDraft)[listener.block] ?? {};
    const path = `channels[${index}].${listener.block}.bind`;
    const name = nameOfChannel(channel);
    const what = `the ${channel.type}${name === channel.type ? '' : ` ${name ?? ''}`}`.trimEnd();
    const flagged = ownAddressOf(name, count, own) ?? null;
    const at = addressAndFlag(addressFlags.webhook, flagged, bind);
    // An unread path is like no other.
    fields.push({ path, what, urlPath: urlPath ?? path, ...at });
  }
  if (observability?.enabled === true) {
    const at = addressAndFlag(addressFlags.admin, own.admin, observability.addr);
    const what = 'the admin server';
    fields.push({ path: 'observability.addr', what, urlPath: null, ...at });
  }
  if (completions) {
    const at = addressAndFlag(addressFlags.completions, own.completions, completions.bind);
    const what = 'the completions API';
    fields.push({ path: 'completions.bind', what, urlPath: null, ...at });
  }
  return fields;
}

function addressAndFlag(
  flag: string,
  own: ListenAddress | null,
  text: string | undefined,
): Pick<ListenerField, 'address' | 'flag'> {
  if (own !== null) return { address: own, flag };
  return { address: text === undefined ? null : parseListenAddress(text, true), flag: null };
}

/** Whether the channel listens, or its type could not be read. */
function mayListen(channel: ChannelDraft | undefined): boolean {
  return channel?.type === undefined || kindOf(channel.type).listener !== null;
}

/** Adds the problems of flags without effect, and of those that could mean several webhooks. */
function checkFlags(
  { channels, observability, completions: api }: DraftDocument,
  { webhook, admin, completions }: OwnAddresses,
  problems: ProblemList,
): void {
  const listeners = channels?.filter(mayListen);
  const flag = addressFlags.webhook;
  if (webhook.size > 0 && listeners?.length === 0) {
    const message = `no channel listens, and ${flag} has no effect`;
    problems.add('flag_unused', 'channels', message, 'Leave the flag out, or add a webhook.');
  } else if (listeners !== undefined && listeners.length > 0) {
    const names = listeners.map(nameOfChannel);
    for (const name of webhook.keys()) {
      if (name === null || names.includes(name) || names.includes(undefined)) continue;
      const message = `no webhook has the name ${name}, and ${flag} ${name}=… has no effect`;
      problems.add('flag_unused', 'channels', message, 'Leave the flag out, or correct the name.');
    }
    const unnamed = listeners.length > 1 ? webhook.get(null) : undefined;
    if (unnamed !== undefined) {
      const { text } = unnamed;
      const message = `${flag} ${text} does not say which webhook it means, and there are several`;
      const remedy = `Write ${flag} NAME=${text}, with one of: ${names.join(', ')}.`;
      problems.add('flag_unclear', 'channels', message, remedy);
    }
  }
  if (admin !== null && observability?.enabled === false) {
    const message = `the admin server is off, and ${addressFlags.admin} does not switch it on`;
    const remedy = 'Leave the flag out, or set observability.enabled to true.';
    problems.add('flag_unused', 'observability.enabled', message, remedy);
  }
  if (completions !== null && api === null) {
    const message = `no brain is offered to clients, and ${addressFlags.completions} has no effect`;
    const remedy = 'Leave the flag out, or add the completions block.';
    problems.add('flag_unused', 'completions', message, remedy);
  }
}
