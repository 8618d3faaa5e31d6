/** The log's line of a bug that was contained. */
import type { Log } from '../lib/log.ts';

export function reportFault(log: Log, where: string, error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error;
  // A parser's error quotes what it read, which may be what a person wrote.
  const quotes = !(error instanceof Error) || error instanceof SyntaxError;
  log.error('fault', `Something went wrong in svc itself, in ${where}.`, {
    where,
    error: name,
    reason: quotes ? undefined : error.message,
  });
  if (log.enabled('debug') && error instanceof Error)
    log.debug('fault_stack', 'Where it went wrong.', { stack: error.stack });
}
