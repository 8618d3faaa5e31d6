/** A channel in a path. */
import type { ChannelKey } from '../../domain/ids.ts';
import type { LedgerReader } from '../../store/store.ts';
import { problem, type Answer } from '../answer.ts';
import { findChannel } from '../channel-named.ts';
import { segment } from './parameters.ts';

export const channel = segment(
  'The channel: `webhook`, or a bot of a messenger by its key (`messenger_a:4711`); its type ' +
    'alone (`messenger_a`) where one bot is known.',
);

/** What a route with such a path may answer besides. */
export const ambiguous = { 409: 'Several bots of this messenger are known: name one.' } as const;

/** Answers about the channel that was named. */
export async function onChannel(
  named: string,
  reader: Pick<LedgerReader, 'channelKeys'>,
  answer: (channel: ChannelKey) => Promise<Answer>,
): Promise<Answer> {
  const found = await findChannel(named, reader);
  if (found.kind === 'found') return answer(found.key);
  return problem(409, 'several_channels', found.message);
}
