import { parentPort } from 'node:worker_threads';
import { beginWriting, type WriterData } from './writer.ts';

// It may have been begun before it was known which database it writes.
parentPort!.once('message', (data: WriterData) => beginWriting(parentPort!, data));
