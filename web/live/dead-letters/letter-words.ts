/** Dead letters, their actions and results, in words. */
import type { FailureKind, ActionBy } from '../../../src/domain/failure.ts';
import type { DeadLetter, DeadLetterReason } from '../../../src/domain/story.ts';

export type Box = DeadLetter['box'];
export type Move = 'replay' | 'discard';

export const boxWords: Readonly<Record<Box, string>> = {
  in: 'message never answered',
  out: 'reply never delivered',
};

const byWhose: Readonly<Record<ActionBy, string>> = {
  operator: 'Mend the configuration or the target first, then replay.',
  provider: 'Replay once the other side is well again.',
  sender: 'Nothing here can mend it: tell the sender, and discard it.',
  us: 'The log says more. Replay it, or discard it.',
};

const byKind: Partial<Readonly<Record<FailureKind, string>>> = {
  poison: 'To replay it may end svc again: look at the message first.',
  unroutable: 'Put its channel or route back into the configuration, then replay.',
  gone: 'Name another target in the configuration, then replay. If a client hung up, discard it.',
};

/** Advice about a dead letter. */
export const adviceOn = ({ kind, whose }: Pick<DeadLetterReason, 'kind' | 'whose'>): string =>
  byKind[kind] ?? byWhose[whose];

/** The effect of a replay, which differs between the two boxes. */
export const replayWords: Readonly<Record<Box, string>> = {
  out:
    'A reply goes out once more, behind everything else in its conversation and marked late. ' +
    'No model is asked. If an earlier try did arrive, its receiver gets it twice.',
  in:
    'A message runs again as if it had come now: its models are asked again, which may cost ' +
    'money, and the tools of an agent may act again.',
};

/** To a person, reasons of one kind and one box are one reason, with any status. */
export type Group = Omit<DeadLetterReason, 'status'> & { readonly statuses: readonly number[] };

/** Most frequent first. */
export function groupsOf(rows: readonly DeadLetterReason[]): readonly Group[] {
  const groups = Map.groupBy(rows, ({ kind, box }) => `${box} ${kind}`);
  return [...groups.values()]
    .map(([first, ...rest]): Group => {
      const all = [first!, ...rest];
      const { status: _, ...shared } = first!;
      const statuses = all.flatMap(({ status }) => status ?? []);
      return { ...shared, count: all.reduce((sum, { count }) => sum + count, 0), statuses };
    })
    .toSorted((a, b) => b.count - a.count);
}

/** Limits the list to one reason, one box or one message; null: any. */
export type Narrowing = {
  readonly reason: string | null;
  readonly box: string | null;
  readonly message: string | null;
};

export function isWithin(letter: DeadLetter, { reason, box, message }: Narrowing): boolean {
  return (
    (reason === null || letter.failure.kind === reason) &&
    (box === null || letter.box === box) &&
    (message === null || letter.messageId === message)
  );
}
