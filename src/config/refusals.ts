/** Every refusal of a configuration, each with its remedy. */
import type { ConfigRefused } from './config-control.ts';
import type { ConfigProblem } from './problems.ts';
import type { InstanceRefusal, NamedInstance, VoteRefusal } from '../cluster/backend.ts';
import type { Disk } from '../app/config/file-on-disk.ts';

/** A detail goes into the log and onto the status page, so it has at most this many sentences. */
const sentencesMax = 10;

const instancesMax = 5;

const previousStays = 'The configuration before stays in use.';

export const inNoFile = 'This configuration stands in no file.';
export const inDatabase =
  'The configuration in use lies in the database, where every svc has it from, and in no file.';
export const stopping = 'The service is stopping; it takes no new configuration.';

export function revisionConflict(revision: string): ConfigRefused {
  const detail = `Revision ${revision} is in use by now: read it, and make your change to that.`;
  return { kind: 'refused', code: 'revision_conflict', detail, revision };
}

/** @param disk neither the text in use nor the requested one */
export function fileChanged(file: string, disk: Disk): ConfigRefused {
  const { revision } = disk;
  return { kind: 'refused', code: 'file_changed', detail: sentenceOfDisk(file, disk), revision };
}

function sentenceOfDisk(file: string, disk: Disk): string {
  const askAgain = `ask again with ?edited=${disk.revision}`;
  switch (disk.kind) {
    case 'text':
      return (
        `${file} is not the configuration in use: somebody has edited it. Look at it; send svc a ` +
        `SIGHUP to take it into use, or, to replace it (it is kept in the history), ${askAgain}.`
      );
    case 'missing':
      return `Somebody has removed ${file}. To have it written anew, ${askAgain}.`;
    case 'unreadable':
      return `${disk.why}, so svc cannot keep what it would replace. Move it away by hand.`;
    default:
      return disk satisfies never;
  }
}

export function invalid(problems: readonly ConfigProblem[]): ConfigRefused {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const detail = `${sentencesOf(errors)} ${previousStays}`;
  return { kind: 'refused', code: 'config_invalid', detail, problems };
}

export function secretMissing(problems: readonly ConfigProblem[]): ConfigRefused {
  const detail = `${sentencesOf(problems)} ${previousStays}`;
  return { kind: 'refused', code: 'secret_missing', detail, problems };
}

export function restartRequired(fields: readonly string[]): ConfigRefused {
  const detail =
    `${fields.join(', ')}: this cannot change while svc runs. Write it into the file by hand and ` +
    `restart svc. ${previousStays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

/**
 * For fields that the database decides. A start takes them from there, so no file can change them.
 */
export function restartOfAllRequired(fields: readonly string[]): ConfigRefused {
  const detail =
    `${fields.join(', ')}: this cannot change while svc runs. Stop every svc on the database, ` +
    `run svc config use with a file that says so, and start them again. ${previousStays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

/** For the place of the database. */
export function ofEachFile(fields: readonly string[]): ConfigRefused {
  const detail =
    `${fields.join(', ')}: every svc takes this from the file of its own machine. Write it ` +
    `there, on each, and restart svc. ${previousStays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

/** For a folder or a program that the file of this machine does not name. */
export function notInOwnFile(fields: readonly string[], file: string): ConfigRefused {
  const detail =
    `${fields.join(', ')}: ${whatByHand(fields)} comes by hand only, on each machine. ` +
    `Write it into ${file} too, and ask again. ${previousStays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

export function onlyByHand(fields: readonly string[]): ConfigRefused {
  const detail = `${sentenceByHand(fields)} ${previousStays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

/** If the token alone could open any folder, it would be a key to the whole machine. */
export function sentenceByHand(fields: readonly string[]): string {
  return (
    `${fields.join(', ')}: ${whatByHand(fields)} comes by hand only. ` +
    'Write it into the file and send svc a SIGHUP, or restart it.'
  );
}

function whatByHand(fields: readonly string[]): string {
  const programs = fields.filter(isOfProgram).length;
  const folder = 'a folder outside of that of the configuration';
  if (programs === 0) return folder;
  const program = 'a program that svc starts';
  return programs === fields.length ? program : `${folder}, and ${program},`;
}

/** @param field one of those that only a person may write into the file */
export function isOfProgram(field: string): boolean {
  return /\.mcp\[\d+\]\.(?:command|env)$/.test(field);
}

export function wouldLockOut(): ConfigRefused {
  const detail =
    'Under the host name that you ask by, you could not ask again: keep it in ' +
    `observability.allowed_hosts, or ask by 127.0.0.1. ${previousStays}`;
  return { kind: 'refused', code: 'would_lock_out', detail };
}

export function notSaved(why: string): ConfigRefused {
  return { kind: 'refused', code: 'not_saved', detail: `${why} ${previousStays}` };
}

export function rolledBack(why: string): ConfigRefused {
  return { kind: 'refused', code: 'rolled_back', detail: `${asSentence(why)} ${previousStays}` };
}

/** Refuses a configuration that other instances cannot use. */
export function refusedByInstances(all: readonly InstanceRefusal[]): ConfigRefused {
  const refusals = all.map(({ instance, code: reason, detail }) => {
    const { id, host, version } = instance;
    return { instance: id, host, version, reason, detail };
  });
  const sentences = all.slice(0, instancesMax).map(describeRefusal);
  if (all.length > instancesMax) sentences.push(`So did ${all.length - instancesMax} more.`);
  const detail = `${sentences.join(' ')} ${previousStays}`;
  return { kind: 'refused', code: 'config_refused_by_instance', detail, refusals };
}

function describeRefusal({ instance, code, detail }: InstanceRefusal): string {
  const who = describeInstance(instance);
  if (code !== 'silent') return `${capital(who)} said no: ${detail}`;
  return `${capital(who)} said nothing. ${detail} See whether it still runs, and ask again.`;
}

/** Names this instance in a refusal, since another one may accept the configuration. */
export function withName(refused: ConfigRefused, self: NamedInstance): ConfigRefused {
  return { ...refused, detail: `${capital(describeInstance(self))} said no: ${refused.detail}` };
}

/** Leaves out the sentence that the proposer adds anyway. */
export function voteOf({ code, detail }: ConfigRefused): VoteRefusal {
  return {
    code,
    detail: detail.endsWith(` ${previousStays}`)
      ? detail.slice(0, -previousStays.length - 1)
      : detail,
  };
}

/** Names an instance for people: `instance 7 (web-2, svc 0.1.0)`. */
export function describeInstance({ id, host, version }: NamedInstance): string {
  return `instance ${id} (${[host, `svc ${version}`].filter((one) => one !== '').join(', ')})`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Ends a sentence, so that another can follow. */
function asSentence(why: string): string {
  return /[.!?]$/.test(why) ? why : `${why}.`;
}

/** The refusal's `problems` has all of them, and `svc config check` prints them. */
function sentencesOf(problems: readonly ConfigProblem[]): string {
  const more = problems.length - sentencesMax;
  const sentences = problems.slice(0, sentencesMax).map(sentenceOf);
  if (more > 0) sentences.push(`There are ${more} more: svc config check tells them.`);
  return sentences.join(' ');
}

function sentenceOf({ path, line, column, message, remedy }: ConfigProblem): string {
  const place = line === 0 ? path : `${line}:${column} ${path}`;
  return `${place === '' ? '' : `${place.trim()}: `}${message}. ${remedy}`;
}
