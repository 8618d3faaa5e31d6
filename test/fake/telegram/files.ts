/** https://core.telegram.org/bots/api#getfile: files are read by their path, without a method. */
import type { ServerResponse } from 'node:http';
import { send } from './faults.ts';
import type { StoredFile } from './methods.ts';
import { refuse } from './wire.ts';

export function download(
  files: ReadonlyMap<string, StoredFile>,
  path: string,
  response: ServerResponse,
): void {
  const file = [...files.values()].find((one) => one.path === path);
  if (file === undefined) return send(refuse(404, 'Not Found'), response);
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  response.end(file.bytes);
}
