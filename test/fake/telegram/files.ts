/** https://core.telegram.org/bots/api#getfile: files are read by their path, without a method. */
import type { ServerResponse } from 'node:http';
import type { Downloads } from '../downloads.ts';
import { send } from './faults.ts';
import type { StoredFile } from './methods.ts';
import { refuse } from './wire.ts';

export function sendFile(
  downloads: Downloads,
  files: ReadonlyMap<string, StoredFile>,
  path: string,
  response: ServerResponse,
): void {
  const file = [...files.values()].findLast((one) => one.path === path);
  if (file === undefined) return send(refuse(404, 'Not Found'), response);
  downloads.send(path, file.bytes, response);
}
