/** Every way in which a configuration is refused, each with what to do. */
import type { ConfigRefused } from '../admin/config-control.ts';
import type { ConfigProblem } from '../config/config.ts';

/** A detail goes into the log and onto the status page. */
const sentencesMax = 10;

const stays = 'The configuration before stays in use.';

export function revisionConflict(revision: string): ConfigRefused {
  const detail = `Revision ${revision} is in use by now: read it, and make your change to that.`;
  return { kind: 'refused', code: 'revision_conflict', detail, revision };
}

export function fileChanged(file: string, revision: string): ConfigRefused {
  const detail =
    `${file} is not the configuration in use: somebody has edited or removed it. Look at it; ` +
    'send svc a SIGHUP to take it into use, or put the text that is in use back into it.';
  return { kind: 'refused', code: 'file_changed', detail, revision };
}

export function invalid(problems: readonly ConfigProblem[]): ConfigRefused {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const detail = `${sentencesOf(errors)} ${stays}`;
  return { kind: 'refused', code: 'config_invalid', detail, problems };
}

export function secretMissing(problems: readonly ConfigProblem[]): ConfigRefused {
  const detail = `${sentencesOf(problems)} ${stays}`;
  return { kind: 'refused', code: 'secret_missing', detail, problems };
}

export function restartRequired(fields: readonly string[]): ConfigRefused {
  const detail =
    `${fields.join(', ')}: this cannot change while svc runs. Write it into the file by hand and ` +
    `restart svc. ${stays}`;
  return { kind: 'refused', code: 'restart_required', detail, fields };
}

export function wouldLockOut(): ConfigRefused {
  const detail =
    'Under the host name that you ask by, you could not ask again: keep it in ' +
    `observability.allowed_hosts, or ask by 127.0.0.1. ${stays}`;
  return { kind: 'refused', code: 'would_lock_out', detail };
}

export function notSaved(why: string): ConfigRefused {
  return { kind: 'refused', code: 'not_saved', detail: `${why} ${stays}` };
}

/** @param more what could not be undone */
export function rolledBack(why: string, more = ''): ConfigRefused {
  return { kind: 'refused', code: 'rolled_back', detail: `${why} ${stays}${more}` };
}

/** The rest stand in `problems`, and are told by `svc config check`. */
function sentencesOf(problems: readonly ConfigProblem[]): string {
  const more = problems.length - sentencesMax;
  const told = problems.slice(0, sentencesMax).map(sentenceOf);
  if (more > 0) told.push(`There are ${more} more: svc config check tells them.`);
  return told.join(' ');
}

function sentenceOf({ path, line, column, message, remedy }: ConfigProblem): string {
  const place = line === 0 ? path : `${line}:${column} ${path}`;
  return `${place === '' ? '' : `${place.trim()}: `}${message}. ${remedy}`;
}
