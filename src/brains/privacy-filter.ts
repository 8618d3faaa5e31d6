/**
 * The first lock of privacy: only local models get private text. It goes by the declared locality
 * of a model. The file also decides how much of a conversation one model sees.
 */
import { unshownQuote } from '../domain/surroundings.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Model } from './models/model.ts';

type HasLocality = Pick<Model, 'locality'>;

/** The models that may be asked, and the dropped ones. */
export type Filtered<M> = { readonly kept: readonly M[]; readonly dropped: readonly M[] };

/** Drops the cloud models of a private turn. */
export function filterMembers<M extends { readonly model: HasLocality }>(
  sensitivity: Sensitivity,
  members: readonly M[],
): Filtered<M> {
  if (sensitivity === 'public') return { kept: members, dropped: [] };
  return {
    kept: members.filter(({ model }) => model.locality === 'local'),
    dropped: members.filter(({ model }) => model.locality !== 'local'),
  };
}

/**
 * The decision for a private turn without a local model.
 * @param brain the brain's own sensitivity
 */
export function noLocalModel(brain: Sensitivity): Decision {
  const reason =
    brain === 'private' ? 'the brain is private and' : 'the text is private and the brain';
  return { kind: 'apology', apology: 'no_answer', why: `${reason} has no local model` };
}

/**
 * How much one model sees of a conversation: its private turns, its unanswered messages, and
 * pictures if the model has vision. `nativeTools`: tools go in the provider's own form, otherwise
 * as text.
 */
export type View = {
  readonly private: boolean;
  readonly unanswered: boolean;
  readonly pictures: boolean;
  readonly nativeTools: boolean;
  /** Tools that the model does not see, because its provider refused their descriptions. */
  readonly refusedTools: readonly string[];
};

/** The view with which a model begins, before any failure. */
export function viewOf({ locality }: HasLocality): View {
  const isLocal = locality === 'local';
  const all = { unanswered: true, pictures: true, nativeTools: true, refusedTools: [] };
  return { private: isLocal, ...all };
}

/** The turns in this view; the same list if the view has all of them. */
export function turnsIn(
  history: readonly TurnRow[],
  view: Pick<View, 'private' | 'unanswered'>,
): readonly TurnRow[] {
  const isShown = (turn: TurnRow): boolean =>
    (view.private || turn.sensitivity === 'public') && (view.unanswered || !isUnanswered(turn));
  return history.every(isShown) ? history : history.filter(isShown);
}

/**
 * The quoted message as the model sees it. In a view without it, the model sees only that there is
 * a quotation.
 */
export function quoteFor(
  { quoted }: { readonly quoted?: QuotedBlock },
  view: Pick<View, 'private'>,
): QuotedBlock | null {
  if (quoted === undefined) return null;
  return quoted.sensitivity === 'private' && !view.private ? unshownQuote : quoted;
}

/** Whether it is a message without an answer; a quoted block is no such message. */
export function isUnanswered({ reply, quoted }: TurnRow): boolean {
  return reply === null && quoted === undefined;
}

/** Failures that show that the model is not local, or that it has not proved to be local. */
const notLocalFailures: ReadonlySet<FailureKind> = new Set<FailureKind>([
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
 * Failures that one message can cause for a whole request, for example by a content filter, which
 * may answer 403.
 */
const textFailures: ReadonlySet<FailureKind> = new Set<FailureKind>([
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

type FailureFacts = Pick<Failure, 'kind' | 'tools'>;

/** The smaller views with which the model may answer after this failure, smallest change first. */
export function narrowerViews(view: View, { kind, tools = [] }: FailureFacts): readonly View[] {
  if (kind === 'tool_refused') {
    return [{ ...view, refusedTools: [...view.refusedTools, ...tools] }];
  }
  if (kind === 'tools_unsupported') {
    return view.nativeTools ? [{ ...view, nativeTools: false }] : [];
  }
  if (kind === 'pictures_unsupported' || kind === 'picture_refused') {
    return view.pictures ? [{ ...view, pictures: false }] : [];
  }
  const views: View[] = [];
  if (view.unanswered && textFailures.has(kind)) views.push({ ...view, unanswered: false });
  // If it also failed without the unanswered messages, they were not the cause.
  if (view.private && notLocalFailures.has(kind))
    views.push({ ...view, private: false, unanswered: true });
  return views;
}
