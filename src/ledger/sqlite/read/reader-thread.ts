/** The reader thread: it answers one question after the other, on a read-only connection. */
import { parentPort, workerData } from 'node:worker_threads';
import { problemOf } from '../files/problem.ts';
import type { ReadArguments, ReadName } from '../../read/questions.ts';
import { runRead } from './reads.ts';
import { openForReading } from './reader.ts';

export type ReaderData = { readonly path: string };
export type ToReader = { readonly question: ReadName; readonly asked: ReadArguments<ReadName> };
export type FromReader =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly message: string };

const port = parentPort!;
const { path } = workerData as ReaderData;
const db = openForReading(path);

port.on('message', ({ question, asked }: ToReader) => {
  port.postMessage(answer(question, asked) satisfies FromReader);
});

function answer(question: ReadName, asked: ReadArguments<ReadName>): FromReader {
  if ('kind' in db) return { kind: 'failed', message: db.message };
  try {
    return { kind: 'answered', answer: runRead(db, question, asked) };
  } catch (error) {
    return { kind: 'failed', message: problemOf(path, error as Error).message };
  }
}
