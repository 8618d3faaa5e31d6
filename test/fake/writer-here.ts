/**
 * The writer of a database without a thread of its own: the same code in this thread, with the same
 * messages. It is for cases that open hundreds of ledgers, since each thread takes time to start.
 */
import { EventEmitter } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { StartWriter } from '../../src/ledger/sqlite/write/start-writer.ts';
import type { FromWriter, ToWriter } from '../../src/ledger/sqlite/write/statements.ts';
import { beginWriting } from '../../src/ledger/sqlite/write/writer.ts';

export const writeHere: StartWriter = async (data, upgrading) => {
  const { port1: near, port2: far } = new MessageChannel();
  const first = Promise.withResolvers<FromWriter>();
  near.on('message', function hear(told: FromWriter) {
    if (told.kind === 'upgrading') return upgrading?.(told);
    near.off('message', hear);
    first.resolve(told);
  });
  const end = beginWriting(far, data);
  const message = await first.promise;
  if (message.kind === 'unopened') return message;
  const writer = new EventEmitter();
  near.on('message', (told) => writer.emit('message', told));
  near.on('close', () => writer.emit('exit'));
  return Object.assign(writer, {
    postMessage: (asked: ToWriter) => near.postMessage(asked),
    terminate: async () => end(),
  });
};
