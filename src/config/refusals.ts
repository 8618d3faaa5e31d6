/** The refusals of a configuration, each with its remedy. */
import type { ConfigRefused } from './config-control.ts';
import type { ConfigProblem } from './problems.ts';

/** A detail goes into the log and onto the status page, so it has at most this many sentences. */
const sentencesMax = 10;

export const previousStays = 'The configuration before stays in use.';

export const inNoFile = 'This configuration stands in no file.';
export const stopping = 'The service is stopping; it takes no new configuration.';

export function revisionConflict(revision: string): ConfigRefused {
  const detail = `Revision ${revision} is in use by now: read it, and make your change to that.`;
  return { kind: 'refused', code: 'revision_conflict', detail, revision };
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
