/** The results of replayed dead letters, read from their messages' stories, in words. */
import { describeWhy } from '../../../src/domain/ending.ts';
import type { DeadLetter, Story } from '../../../src/domain/story.ts';
import type { TurnOutcome } from '../../../src/domain/trace.ts';
import { count, spaced } from '../../kit/words.ts';

/** The fields of a dead letter that a move and its follow-up need. */
export type Mover = Pick<DeadLetter, 'id' | 'box' | 'messageId'>;

export type Fate =
  /** `why`: the failure of the last try; null: there was no try yet. */
  | { readonly kind: 'waits'; readonly why: string | null }
  | { readonly kind: 'delivered' }
  /** The sender got an apology instead of an answer. */
  | { readonly kind: 'unanswered'; readonly why: string }
  | { readonly kind: 'dead'; readonly why: string }
  /** The service no longer has its story. */
  | { readonly kind: 'unknown' };

/** Outcomes of turns in which the sender got an answer. */
const answered: ReadonlySet<TurnOutcome> = new Set(['reply', 'command', 'by_hand']);

/** @param story null: the service no longer has it */
export function fateIn(story: Story | null, { id, box }: Mover): Fate {
  if (story === null) return { kind: 'unknown' };
  if (box === 'in') {
    if (story.state === 'waiting') return { kind: 'waits', why: null };
    if (story.state === 'dead') return { kind: 'dead', why: describeWhy(story.failure) };
  }
  const replies = story.replies.filter((reply) => box === 'in' || reply.id.startsWith(id));
  const dead = replies.find(({ state }) => state === 'dead');
  if (dead !== undefined) return { kind: 'dead', why: describeWhy(dead.failure) };
  const waiting = replies.find(({ state }) => state === 'waiting');
  if (waiting !== undefined) {
    return { kind: 'waits', why: waiting.failure === null ? null : describeWhy(waiting.failure) };
  }
  const outcome = box === 'in' ? (story.trace?.outcome ?? 'reply') : 'reply';
  if (!answered.has(outcome)) {
    return { kind: 'unanswered', why: spaced(outcome) };
  }
  return replies.length === 0 && box === 'out' ? { kind: 'unknown' } : { kind: 'delivered' };
}

/** `2 delivered, 1 dead again (the receiver answers 410), 1 still waits`. */
export function describeFates(fates: readonly Fate[]): string {
  const of = (kind: Fate['kind']): readonly Fate[] => fates.filter((fate) => fate.kind === kind);
  const waits = of('waits');
  return [
    describeGroup(of('delivered'), 'delivered'),
    describeGroup(of('unanswered'), 'without an answer again'),
    describeGroup(of('dead'), 'dead again'),
    describeGroup(waits, waits.length === 1 ? 'still waits' : 'still wait'),
    describeGroup(of('unknown'), 'not known any more'),
  ]
    .filter((words) => words !== '')
    .join(', ');
}

/** Only the most frequent reasons are listed. */
const reasonsMax = 3;

function describeGroup(fates: readonly Fate[], words: string): string {
  if (fates.length === 0) return '';
  const reasons = fates.flatMap((fate) => ('why' in fate && fate.why !== null ? [fate.why] : []));
  const counted = [...Map.groupBy(reasons, (why) => why)]
    .map(([why, all]) => ({ why, number: all.length }))
    .toSorted((a, b) => b.number - a.number)
    .slice(0, reasonsMax);
  const isOne = counted.length === 1 && counted[0]!.number === fates.length;
  const said = counted.map(({ why, number }) => (isOne ? why : `${count(number)}: ${why}`));
  return `${count(fates.length)} ${words}${said.length === 0 ? '' : ` (${said.join('; ')})`}`;
}
