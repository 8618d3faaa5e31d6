import type { EarlierPictures, Turn } from '../../brains/brain.ts';
import { picturesMax, type Picture } from '../../domain/attachment.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import type { ActiveRoute, Deps } from '../deps.ts';

/** How the line of a picture begins, by which later turns remember that one came. */
const mark = '[picture: ';

/** Whether pictures may be kept of these; else nobody looks for any. */
export function mayBePictured(history: readonly TurnRow[]): boolean {
  return history.some(({ text }) => text.includes(mark));
}

/**
 * The turn with a way to the newest pictures of its history, as many as one message may have with
 * its own. Each costs again whenever it is shown: within a budget none is.
 */
export function withEarlierPictures<T extends Turn>(
  { ledger }: Pick<Deps, 'ledger'>,
  { brain }: Pick<ActiveRoute, 'brain'>,
  claim: InClaim,
  turn: T,
): T {
  const { history, attachments = [] } = turn;
  const first = history.find(({ text }) => text.includes(mark));
  const most = picturesMax - attachments.filter(({ kind }) => kind === 'picture').length;
  if (first === undefined || most <= 0 || brain.budget !== null) return turn;
  return { ...turn, pictured: () => newestOf(ledger, claim, { history, since: first.at, most }) };
}

/** A picture is no less private than the turn that it came with. */
async function newestOf(
  { attachments }: Deps['ledger'],
  claim: InClaim,
  { history, since, most }: { history: readonly TurnRow[]; since: number; most: number },
): Promise<EarlierPictures> {
  const pictured = new Map<TurnRow, readonly Picture[]>();
  const kept = await attachments.picturesSince(claim, since, most);
  for (const { at, sensitivity, picture } of kept.toReversed()) {
    const [row, ...others] = history.filter((one) => one.at === at && one.text.includes(mark));
    // Of two messages of one millisecond nobody knows whose it is.
    if (row === undefined || others.length > 0) continue;
    if (sensitivity === 'private' && row.sensitivity !== 'private') continue;
    pictured.set(row, [...(pictured.get(row) ?? []), picture]);
  }
  return pictured;
}
