/** The lines of `svc status` about channels whose replies do not arrive. */
import { channelName } from '../../channels/registry.ts';
import type { DeliveryStatus } from '../../admin/deliveries.ts';
import { plural } from '../../domain/plural.ts';
import { length } from '../ledger/table.ts';
import type { Line } from './asked-lines.ts';

export function receiverLines(deliveries: readonly DeliveryStatus[], now: number): Line[] {
  return deliveries.flatMap(({ channel, state, since, reasons: [reason], waiting, oldestAt }) => {
    if (state !== 'failing') return [];
    const answered = reason?.status == null ? '' : `, status ${reason.status}`;
    const why = reason === undefined ? '' : ` (${reason.code}${answered})`;
    const began = since === null ? '' : ` for ${length(Math.max(0, now - since))}`;
    const oldest =
      oldestAt === null ? '' : `, the oldest for ${length(Math.max(0, now - oldestAt))}`;
    const message =
      `do not arrive${began}${why}; ${plural(waiting, 'waits', 'wait')}${oldest}. ` +
      'Once the receiver is mended, try them now at Deliveries';
    return [{ mark: 'failed', subject: `replies on ${channelName(channel)}`, message }];
  });
}
