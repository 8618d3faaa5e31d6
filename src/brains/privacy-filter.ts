/**
 * The first lock of privacy: what is private is for local models alone. It goes by what is
 * declared, not by what is seen.
 */
import { unshownQuote } from '../domain/surroundings.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Model } from './models/model.ts';

type Located = Pick<Model, 'locality'>;

/** Who may be asked, and who was dropped. */
export type Shielded<M> = { readonly kept: readonly M[]; readonly dropped: readonly M[] };

/** Drops the cloud models of a private turn. */
export function shield<M extends { readonly model: Located }>(
  sensitivity: Sensitivity,
  members: readonly M[],
): Shielded<M> {
  if (sensitivity === 'public') return { kept: members, dropped: [] };
  return {
    kept: members.filter(({ model }) => model.locality === 'local'),
    dropped: members.filter(({ model }) => model.locality !== 'local'),
  };
}

/** The turn is private, and nobody may be asked. @param brain the brain's own sensitivity */
export function noneKept(brain: Sensitivity): Decision {
  const what =
    brain === 'private' ? 'the brain is private and' : 'the text is private and the brain';
  return { kind: 'apology', apology: 'no_answer', why: `${what} has no local model` };
}

/**
 * Whether one model is shown what is private of the conversation, what had no answer, and pictures
 * if it sees; and whether tools are offered to it as its provider does that, or else in words.
 */
export type View = {
  readonly private: boolean;
  readonly unanswered: boolean;
  readonly pictures: boolean;
  readonly nativeTools: boolean;
  /** Tools that its provider does not take as they are described: it is not told of them. */
  readonly refusedTools: readonly string[];
};

/** What a model is shown as long as nothing speaks against it. */
export function viewOf({ locality }: Located): View {
  const isLocal = locality === 'local';
  const all = { unanswered: true, pictures: true, nativeTools: true, refusedTools: [] };
  return { private: isLocal, ...all };
}

/** The turns that it is shown; the same list where that is all of them. */
export function turnsIn(
  history: readonly TurnRow[],
  view: Pick<View, 'private' | 'unanswered'>,
): readonly TurnRow[] {
  const isShown = (turn: TurnRow): boolean =>
    (view.private || turn.sensitivity === 'public') && (view.unanswered || !isUnanswered(turn));
  return history.every(isShown) ? history : history.filter(isShown);
}

/**
 * What the model is told that the message replies to: where it is not shown that, only that there
 * is something.
 */
export function quoteFor(
  { quoted }: { readonly quoted?: QuotedBlock },
  view: Pick<View, 'private'>,
): QuotedBlock | null {
  if (quoted === undefined) return null;
  return quoted.sensitivity === 'private' && !view.private ? unshownQuote : quoted;
}

/** A message without an answer; a quoted block is none. */
export function isUnanswered({ reply, quoted }: TurnRow): boolean {
  return reply === null && quoted === undefined;
}

/** The model is elsewhere after all, whatever was declared, or has not shown that it is here. */
const elsewhere: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'left_machine',
  'private_refused',
  'far_address',
  'not_found',
  'unauthorized',
  'rejected',
  'redirected',
  'server_error',
  'malformed_answer',
  'answer_too_large',
]);

/**
 * Failures that one message may cause, as with a content filter (which may answer 403), for all
 * that stand beside it.
 */
const ofText: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'server_error',
  'rejected',
  'filtered',
  'connection_lost',
  'malformed_answer',
  'empty_answer',
  'answer_too_large',
  'unauthorized',
  'timeout',
]);

type Failed = Pick<Failure, 'kind' | 'tools'>;

/** With what less the model may answer after this failure: the least change comes first. */
export function narrower(view: View, { kind: failed, tools = [] }: Failed): readonly View[] {
  if (failed === 'tool_refused') {
    return [{ ...view, refusedTools: [...view.refusedTools, ...tools] }];
  }
  if (failed === 'tools_unsupported') {
    return view.nativeTools ? [{ ...view, nativeTools: false }] : [];
  }
  if (failed === 'pictures_unsupported' || failed === 'picture_refused') {
    return view.pictures ? [{ ...view, pictures: false }] : [];
  }
  const views: View[] = [];
  if (view.unanswered && ofText.has(failed)) views.push({ ...view, unanswered: false });
  // Where it failed without the unanswered messages as well, these were not the cause.
  if (view.private && elsewhere.has(failed))
    views.push({ ...view, private: false, unanswered: true });
  return views;
}
