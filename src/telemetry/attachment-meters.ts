/** What came with messages and was not read: counted and told, without anything of it. */
import type { Events } from '../domain/event.ts';
import { channelTypeOf } from '../domain/ids.ts';
import { isOperatorsMatter, describeUnread } from '../domain/unread.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { entryOf, Pace, type UnreadTally } from './meters.ts';

class UnreadCount extends Pace implements UnreadTally {
  readonly channel: string;
  readonly part: UnreadTally['part'];
  readonly reason: UnreadTally['reason'];

  constructor({ channel, part, reason }: Omit<UnreadTally, 'count'>) {
    super();
    this.channel = channel;
    this.part = part;
    this.reason = reason;
  }
}

export class AttachmentCounts {
  readonly unread = new Map<string, UnreadCount>();
  readonly #log: Log;
  readonly #steady: () => SteadyTime;

  constructor(log: Log, { steady }: Pick<Clock, 'steady'>) {
    this.#log = log;
    this.#steady = steady;
  }

  wasUnread({ channel: key, ...unread }: Parameters<Events['attachmentUnread']>[0]): void {
    const { part, reason, detail } = unread;
    const channel = channelTypeOf(key);
    const counted = { channel, part, reason };
    const make = (): UnreadCount => new UnreadCount(counted);
    const count = entryOf(this.unread, `${channel} ${part} ${reason}`, make);
    count.count++;
    if (!count.isDue(this.#steady())) return;
    const message = `${channel}: ${describeUnread(unread)}`;
    const told = { ...counted, detail, ...count.unsaid() };
    if (isOperatorsMatter(unread)) this.#log.warn('attachment_unread', message, told);
    else this.#log.info('attachment_unread', message, told);
  }
}
