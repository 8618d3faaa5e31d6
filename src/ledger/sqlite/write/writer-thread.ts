/** The entry of the writer thread. It waits for the database to write. */
import { parentPort } from 'node:worker_threads';
import { beginWriting, type WriterData } from './writer.ts';

// The thread may begin before svc knows which database it writes.
parentPort!.once('message', (data: WriterData) => beginWriting(parentPort!, data));
