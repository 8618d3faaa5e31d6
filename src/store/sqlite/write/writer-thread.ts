import { parentPort, workerData } from 'node:worker_threads';
import { beginWriting, type WriterData } from './writer.ts';

beginWriting(parentPort!, workerData as WriterData);
