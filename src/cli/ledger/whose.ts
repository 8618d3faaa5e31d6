import { findChannel } from '../../admin/channel-named.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Whose } from '../../domain/story.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode } from '../cli.ts';
import { reading, type LedgerLocation } from './access.ts';

/**
 * Reads `<channel> <conversation>`, or `<channel>` with `--sender <id>`.
 * @returns whose words are meant, or a sentence about what is wrong
 */
export function parseWhose(positionals: readonly string[], sender: string | null): Whose | string {
  const [channel, conversation] = positionals;
  if (channel === undefined) return 'Say which channel, such as webhook, and which conversation.';
  if (sender === null) {
    if (conversation === undefined) return 'Say which conversation, or whose: --sender <id>.';
    return {
      kind: 'conversation',
      channel: channel as ChannelKey,
      conversation: conversation as ConversationId,
    };
  }
  if (conversation !== undefined) return '--sender and a conversation exclude each other.';
  return { kind: 'sender', channel: channel as ChannelKey, sender };
}

/**
 * Reads the channel as `findChannel` does.
 * @returns the same on the channel that is meant, or the exit code after the refusal was told
 */
export async function locate<Of extends { readonly channel: ChannelKey }>(
  location: LedgerLocation,
  of: Of,
): Promise<Of | number> {
  let code: number = exitCode.fine;
  const channelKeys: LedgerReader['channelKeys'] = async (type) => {
    let keys: readonly ChannelKey[] = [];
    code = await reading(location, async (reader) => {
      keys = await reader.channelKeys(type);
      return exitCode.fine;
    });
    return keys;
  };
  const found = await findChannel(of.channel, { channelKeys });
  if (code !== exitCode.fine) return code;
  if (found.kind === 'found') return { ...of, channel: found.key };
  location.io.stderr.write(`${found.message}\n`);
  return exitCode.failed;
}

export function describeNobody(whose: Whose): string {
  return whose.kind === 'conversation'
    ? 'No conversation with this id is known here.\n'
    : 'Nothing is known here that this sender said.\n';
}
