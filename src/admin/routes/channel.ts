/** A channel as a path parameter. */
import { channelKinds, messengerTypes } from '../../channels/registry.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { problem, type Answer } from '../http/answer.ts';
import { botExample, findChannel } from '../channel-named.ts';
import { segment } from './route.ts';

const others = channelKinds
  .flatMap(({ type, isMessenger }) => (isMessenger ? [] : [`\`${type}\``]))
  .join(', ');

export const channel = segment(
  `The channel: its name, or without a name its type: ${others}, \`${messengerTypes[0]}\`. Where ` +
    `several bots of it are known, the key of one (\`${botExample}\`).`,
);

/** A problem of every route with a channel in its path. */
export const ambiguous = { 409: 'Several bots of this messenger are known: name one.' } as const;

/** Answers about the named channel. */
export async function onChannel(
  named: string,
  reader: Pick<LedgerReader, 'channelKeys'>,
  answer: (channel: ChannelKey) => Promise<Answer>,
): Promise<Answer> {
  const found = await findChannel(named, reader);
  if (found.kind === 'found') return answer(found.key);
  return problem(409, 'several_channels', found.message);
}
