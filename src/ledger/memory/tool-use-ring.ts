/** The last uses of tools, for the form that keeps nothing else: without what the model gave. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Whose } from '../../domain/story.ts';
import type {
  BegunCall,
  CallEnding,
  ToolUseWithResult,
  ToolUse,
  ToolUseText,
} from '../../domain/tool-use.ts';
import { isOf } from '../engine/order/removal.ts';

const usesMax = 1_000;

type Kept = { readonly message: Whereabouts; readonly use: ToolUse };
type Whereabouts = Pick<Message, 'id' | 'channel' | 'conversation' | 'sender'>;

/** What belongs to a person is not told without storage. */
const unknown = '' as ConversationId;

export class ToolUseRing {
  #kept: Kept[] = [];

  add({ id, channel, conversation, sender }: Message, uses: readonly ToolUseWithResult[]): void {
    if (uses.length === 0) return;
    const message = { id, channel, conversation, sender };
    for (const { told: _told, ...use } of uses) {
      const at = this.#kept.findLastIndex((one) => one.use.key === use.key);
      if (at < 0) this.#kept.push({ message, use: { ...use, arguments: '' } });
      else this.#kept[at] = { message, use: { ...use, at: this.#kept[at]!.use.at, arguments: '' } };
    }
    if (this.#kept.length > usesMax) this.#kept = this.#kept.slice(-usesMax);
  }

  /** A use is told as `unknown` until its own end, or that of its turn, is told. */
  begun(message: Message, { key, at, tool, mode, rule }: BegunCall): void {
    const use = { key, at, ms: 0, tool, mode, rule, arguments: '' };
    this.add(message, [{ ...use, outcome: 'unknown', told: null }]);
  }

  ended(key: string, { outcome, ms }: CallEnding): void {
    const at = this.#kept.findLastIndex(({ use }) => use.key === key);
    const kept = this.#kept[at];
    if (kept?.use.outcome !== 'unknown') return;
    this.#kept[at] = { ...kept, use: { ...kept.use, outcome, ms } };
  }

  /** The last n of a conversation, newest first. */
  of(channel: ChannelKey, conversation: ConversationId, n: number): readonly ToolUse[] {
    const here = this.#kept.filter(
      ({ message }) => message.channel === channel && message.conversation === conversation,
    );
    return here
      .slice(-n)
      .reverse()
      .map(({ use }) => use);
  }

  remove(whose: Whose): void {
    this.#kept = this.#kept.filter(({ message }) => !isOf(whose, message, message.sender.id));
  }

  /** All of them, newest first. */
  told(): readonly ToolUseText[] {
    return this.#kept.toReversed().map(({ message: { id, channel }, use }) => {
      return { ...use, messageId: id, channel, conversation: unknown, arguments: null, told: null };
    });
  }
}
