/** What the fields of a configuration mean together: problems that no field shows by itself. */
import type { ChannelKind } from '../channel/kind.ts';
import { kindOf } from '../channel/kinds.ts';
import { isBrowserRefused, meet, parseListenAddress } from './address.ts';
import type { ListenAddress } from './config.ts';
import type { ProblemList } from './problems.ts';
import { checkBrain } from './rules-brain.ts';
import { checkRoutes } from './rules-routes.ts';
import type { ChannelDraft, DraftDocument } from './schema.ts';

export { rankModels } from './rank.ts';

/** Adds every problem and warning that a document without its file can show. */
export function checkRules(document: DraftDocument, problems: ProblemList): void {
  for (const [index, channel] of (document.channels ?? []).entries()) {
    if (channel !== undefined) checkChannel(channel, `channels[${index}]`, document, problems);
  }
  for (const [index, brain] of (document.brains ?? []).entries()) {
    if (brain !== undefined) checkBrain(brain, `brains[${index}]`, document, problems);
  }
  checkRoutes(document, problems);
  checkListeners(document, problems);
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
  if (kind?.isMessenger !== true || access === undefined) return;
  if (access === null || (access.allow === null && access.pairing === false)) {
    const message = `anyone on the platform may talk to ${type}`;
    const remedy = 'List who may, as "access": {"allow": ["123456789"]}.';
    problems.add('access_open', `${path}.access`, message, remedy);
  }
  if (access?.pairing === true && document.storage === null) {
    const message = 'who was let in by pairing is kept in storage, and there is none';
    const remedy = 'Add "storage": {}, or list the user ids in allow.';
    problems.add('pairing_without_storage', `${path}.access.pairing`, message, remedy);
  }
}

/** More listeners need not all be compared: a second webhook is a problem of its own. */
const takenMax = 10;

/** A channel of a kind that listens, by the block that says where. */
type ListenerDraft = Readonly<Record<string, { readonly bind?: string } | null | undefined>>;

function checkListeners({ channels, observability }: DraftDocument, problems: ProblemList): void {
  const taken: ListenAddress[] = [];
  const check = (text: string | undefined, path: string, what: string): void => {
    const address = text === undefined ? null : parseListenAddress(text, true);
    if (address === null) return;
    if (!address.loopback) {
      const message = `other machines can reach ${what}, and nothing encrypts what they send`;
      const remedy = 'Bind to 127.0.0.1, with a reverse proxy that terminates TLS in front.';
      problems.add('not_loopback', path, message, remedy);
    }
    if (isBrowserRefused(address.port)) {
      const message = `browsers refuse to connect to port ${address.port}`;
      problems.add('browser_port', path, message, 'Choose another port.');
    }
    if (taken.slice(0, takenMax).some((other) => meet(other, address))) {
      const message = 'the webhook and the admin server would listen on one address';
      problems.add('address_twice', path, message, 'Give one of them another port.');
    }
    taken.push(address);
  };
  for (const [index, channel] of (channels ?? []).entries()) {
    const listener = channel?.type && kindOf(channel.type).listener;
    if (!listener) continue;
    const { bind } = (channel as ListenerDraft)[listener.block] ?? {};
    check(bind, `channels[${index}].${listener.block}.bind`, `the ${channel.type}`);
  }
  if (observability?.enabled === true) {
    check(observability.addr, 'observability.addr', 'the admin server');
  }
}

function checkStorage({ storage }: DraftDocument, problems: ProblemList): void {
  if (!storage?.path || !storage.url_env) return;
  const message = 'path names a file and url_env a database server, and svc keeps all in one place';
  const remedy = 'Remove path to use the server, or url_env to use the file.';
  problems.addAtKey('storage_twice', 'storage.url_env', message, remedy);
}

const commands = new Set(['/recall', '/notes', '/tools']);

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
    } else if (commands.has(trigger)) {
      const message = `${trigger} is a command of svc`;
      problems.add('bad_trigger', path, message, 'Choose another word.');
    }
  }
}
