import type { AdminPorts } from '../admin.ts';
import { counter, gauge, one } from '../../telemetry/prometheus/exposition.ts';
import type { Family } from '../../telemetry/prometheus/exposition.ts';
import { ownBacklogOf } from '../status.ts';

/** What is in the ledger now, and how near it is to its limits. */
export function ledgerFamilies(ports: AdminPorts): Family[] {
  const gauges = ports.gauges();
  const plain = (name: string, help: string, value: number): Family =>
    gauge(name, help, [one(value)]);
  return [
    gauge('svc_rows', 'Messages and replies in the ledger, by where they stand.', [
      one(gauges.inboxWaiting, { box: 'in', state: 'waiting' }),
      one(gauges.inboxClaimed, { box: 'in', state: 'claimed' }),
      one(gauges.outboxWaiting, { box: 'out', state: 'waiting' }),
      one(gauges.outboxClaimed, { box: 'out', state: 'claimed' }),
      one(gauges.outboxDeferred, { box: 'out', state: 'deferred' }),
    ]),
    gauge(
      'svc_backlog_rows',
      'Unsettled rows of each channel.',
      ownBacklogOf(ports).flatMap(({ channel, inbox, outbox }) => [
        one(inbox, { channel, box: 'in' }),
        one(outbox, { channel, box: 'out' }),
      ]),
    ),
    gauge(
      'svc_backlog_oldest_seconds',
      'How long ago the oldest unsettled row of each channel was accepted or made.',
      ownBacklogOf(ports).map(({ channel, oldestAt }) =>
        one(Math.max(0, ports.now() - (oldestAt ?? ports.now())) / 1_000, { channel }),
      ),
    ),
    plain('svc_dead_letters_kept', 'Dead letters kept for the operator.', gauges.deadLetters),
    plain(
      'svc_suspects',
      'Messages that may have ended the process, held to run alone.',
      gauges.suspects,
    ),
    plain('svc_held', 'Conversations that an operator answers by hand.', gauges.held),
    plain(
      'svc_unroutable_rows',
      'Unsettled rows of channels that are not configured.',
      gauges.unroutable,
    ),
    counter('svc_traces_dropped_total', 'Traces left out because the storage was behind.', [
      one(gauges.tracesDropped),
    ]),
    plain('svc_held_bytes', 'Bytes of unsettled messages and replies.', gauges.bytesHeld),
    plain('svc_held_bytes_max', 'Bytes at which messages are refused.', gauges.bytesMax),
    plain('svc_messages_max', 'Unsettled messages at which more are refused.', gauges.messagesMax),
    plain('svc_conversations_at_work', 'Conversations in work.', gauges.conversationsAtWork),
    plain('svc_remembered_bytes', 'Bytes of history kept at hand.', gauges.rememberedBytes),
    plain('svc_commits_pending', 'Commits not yet on disk.', gauges.commitsPending),
    plain('svc_connections', 'Connections open on all listeners.', ports.connections()),
  ];
}
