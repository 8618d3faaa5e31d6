import { parentPort, workerData } from 'node:worker_threads';
import { beginWriting, type WriterData } from './write/writer.ts';

beginWriting(parentPort!, workerData as WriterData);
