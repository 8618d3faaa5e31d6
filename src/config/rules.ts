/** What the fields of a configuration mean together: problems that no field shows by itself. */
import type { ChannelKind } from '../channels/kind.ts';
import { kindOf } from '../channels/registry.ts';
import { noOwnAddresses, type OwnAddresses } from './own-addresses.ts';
import { commandWordOf, neverTriggers } from '../domain/command-words.ts';
import type { ProblemList } from './problems.ts';
import { checkBrain, checkContexts } from './rules-brain.ts';
import { checkListeners } from './rules-listeners.ts';
import { checkSpeech } from './rules-speech.ts';
import { checkRoutes } from './rules-routes.ts';
import type { ChannelDraft, DraftDocument } from './schema.ts';

export { rankModels } from './rank.ts';

/** Adds every problem and warning that a document without its file can show. */
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
    const isTaken = neverTriggers.has(command);
    const loses = isTaken ? '' : ', and the trigger takes its place';
    const message = `${trigger} is a command of svc${loses}`;
    const code = isTaken ? 'bad_trigger' : 'trigger_is_command';
    problems.add(code, path, message, 'Choose another word.');
  }
}
