import type { Events } from '../../domain/event.ts';
import { ReadFailed } from '../../ledger/ledger.ts';
import { problem } from './answer.ts';
import type { Answer } from './answer.ts';

/** The answer when a route threw. The cause is told in the log only. */
export function answerError(error: unknown, events: Pick<Events, 'faulted'>): Answer {
  if (error instanceof ReadFailed && error.reason !== 'storage') return unread(error);
  events.faulted({ where: 'the admin server', error });
  if (error instanceof ReadFailed) {
    return problem(503, 'storage_failed', 'The storage could not be read; the log says more.');
  }
  return problem(500, 'fault', 'Something went wrong in svc itself; its log says more.');
}

function unread({ reason, message }: ReadFailed): Answer {
  const code = reason === 'closed' ? 'shutting_down' : reason;
  return problem(503, code, message, { 'retry-after': '1' });
}
