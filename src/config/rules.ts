/**
 * Checks the fields of a configuration together, for problems that no field has alone. The other
 * `rules-*.ts` files have the checks of brains, agents, MCP servers, and routes.
 */
import type { ChannelKind } from '../channels/kind.ts';
import { kindOf } from '../channels/registry.ts';
import { noOwnAddresses, type OwnAddresses } from './own-addresses.ts';
import { commandWordOf, neverTriggers } from '../domain/command-words.ts';
import type { ProblemList } from './problems.ts';
import { checkBrain, checkContexts } from './rules-brain.ts';
import { checkChannelNames, checkListeners, nameOfChannel } from './rules-channels.ts';
import { checkRoutes } from './rules-routes.ts';
import type { ChannelDraft, DraftDocument } from './schema.ts';
import { isLoopbackHost, parseWebAddress, checkEncrypted } from './address.ts';
import { rangeOf } from '../lib/ip-address.ts';
import { isVendorHost } from './rank.ts';

/** Adds every problem and warning that a document shows without the disk. */
export function checkRules(
  document: DraftDocument,
  problems: ProblemList,
  own: OwnAddresses = noOwnAddresses,
): void {
  for (const [index, channel] of (document.channels ?? []).entries()) {
    if (channel !== undefined) checkChannel(channel, `channels[${index}]`, document, problems);
  }
  for (const [index, brain] of (document.brains ?? []).entries()) {
    if (brain !== undefined) checkBrain(brain, `brains[${index}]`, document, problems);
  }
  checkContexts(document, problems);
  checkChannelNames(document, problems);
  checkRoutes(document, problems);
  checkListeners(document, own, problems);
  checkStorage(document, problems);
  checkSession(document, problems);
  if (document.admin !== null && document.observability?.enabled === false) {
    const message = 'the admin block has no effect while observability is off';
    const remedy = 'Remove the block, or set observability.enabled to true.';
    problems.addAtKey('admin_unserved', 'admin', message, remedy);
  }
}

function checkChannel(
  channel: ChannelDraft,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const { type, access } = channel;
  const kind: ChannelKind | undefined = type && kindOf(type);
  kind?.check?.(channel as never, path, problems);
  checkSpeech(channel, path, document, problems);
  if (kind?.isMessenger !== true || access === undefined) return;
  if (access === null || (access.allow === null && access.pairing === false)) {
    const message = `anyone on the platform may talk to ${nameOfChannel(channel) ?? type}`;
    const remedy = 'List who may, as "access": {"allow": ["123456789"]}.';
    problems.add('access_open', `${path}.access`, message, remedy);
  }
  if (access?.pairing === true && document.storage === null) {
    const message = 'who was let in by pairing is kept in storage, and there is none';
    const remedy = 'Add "storage": {}, or list the user ids in allow.';
    problems.add('pairing_without_storage', `${path}.access.pairing`, message, remedy);
  }
}

function checkStorage({ storage }: DraftDocument, problems: ProblemList): void {
  if (!storage?.path || !storage.url_env) return;
  const message = 'path names a file and url_env a database server, and svc keeps all in one place';
  const remedy = 'Remove path to use the server, or url_env to use the file.';
  problems.addAtKey('storage_twice', 'storage.url_env', message, remedy);
}

function checkSession({ session, storage }: DraftDocument, problems: ProblemList): void {
  if (session === null || session === undefined) return;
  if (storage === null) {
    const message = 'sessions are kept in storage, and there is none';
    problems.addAtKey('session_without_storage', 'session', message, 'Add "storage": {}.');
  }
  for (const [index, trigger] of (session.triggers ?? []).entries()) {
    if (trigger === undefined) continue;
    const path = `session.triggers[${index}]`;
    if (trigger === '' || /\s/.test(trigger)) {
      const message = trigger === '' ? 'a trigger is empty' : 'a trigger has white space';
      problems.add('bad_trigger', path, message, 'Write one word, such as /new.');
      continue;
    }
    const command = commandWordOf(trigger);
    if (command === null) continue;
    const isReserved = neverTriggers.has(command);
    const effect = isReserved ? '' : ', and the trigger takes its place';
    const message = `${trigger} is a command of svc${effect}`;
    const code = isReserved ? 'bad_trigger' : 'trigger_is_command';
    problems.add(code, path, message, 'Choose another word.');
  }
}

/**
 * Speech to a private brain must not reach a public address. As with models, it is an error only if
 * the address is certainly public. At each request svc checks the connected address again.
 */
function checkSpeech(
  channel: ChannelDraft,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const url = channel.speech?.base_url;
  const host = url == null ? undefined : parseWebAddress(url)?.host;
  if (host === undefined || isLoopbackHost(host)) return;
  const at = `${path}.speech.base_url`;
  if (!isAnsweredPrivately(nameOfChannel(channel), document)) {
    checkEncrypted(url, 'what people say', at, problems);
  } else if (isVendorHost(host) || rangeOf(host.replace(/^::ffff:(?=.*\.)/i, '')) === 'public') {
    const message = `a private brain answers here, and ${host} is public`;
    const remedy = 'Write the address of a speech server that runs here, or remove "speech".';
    problems.add('speech_far', at, message, remedy);
  } else {
    const message = 'a private brain answers here, and what is spoken goes to another machine';
    const remedy = 'Use an address of this machine, unless that machine is yours to trust.';
    problems.add('speech_elsewhere', at, message, remedy);
  }
}

/** Whether the brain of one route of the channel is private. */
function isAnsweredPrivately(name: string | undefined, document: DraftDocument): boolean {
  const named = (document.routes ?? []).filter((route) => route?.channel === name);
  return named.some((route) => {
    const brain = (document.brains ?? []).find((one) => one?.name === route?.brain);
    return brain?.sensitivity === 'private';
  });
}
