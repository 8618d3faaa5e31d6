/**
 * Reads a file that came with a message (https://core.telegram.org/bots/api#getfile). The address
 * of a file holds the token, so only the request gets it.
 */
import { failure } from '../../domain/failure.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { Stop } from '../../lib/stop.ts';
import type { FetchResult } from '../channel.ts';
import { apiRoot, type BotApi } from './bot-api.ts';
import { object, string } from './fields.ts';

export type FetchDeps = {
  readonly api: BotApi;
  readonly token: string;
  /** Without a slash at its end; null: Telegram's own. */
  readonly baseUrl: string | null;
  readonly http: HttpClient;
  readonly steady: () => SteadyTime;
};

const callMs = 10_000;
const downloadMs = 30_000;
/**
 * A relative path of plain names. A self-hosted server may give a path on its own disk; svc does
 * not read it.
 */
const relativePath = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;
const localPathDetail = 'the Bot API server gave a path of its own disk: start it without --local';

export async function fetchFile(
  { api, token, baseUrl, http, steady }: FetchDeps,
  file: string,
  bytesMax: number,
  stop: Stop,
): Promise<FetchResult> {
  const answer = await api.call('getFile', { file_id: file }, callMs, stop.signal);
  if (answer.kind === 'fault') return { kind: 'failed', failure: failure(answer.fault) };
  if (answer.kind === 'refused') {
    if (/too big/i.test(answer.description)) return { kind: 'too_large' };
    return failedBy(answer.status);
  }
  const fileInfo = object(answer.result);
  const path = string(fileInfo?.['file_path']);
  const size = fileInfo?.['file_size'];
  if (typeof size === 'number' && size > bytesMax) return { kind: 'too_large' };
  if (path === null || !relativePath.test(path)) {
    const isLocalPath = path?.startsWith('/') === true;
    const details = isLocalPath ? { detail: localPathDetail } : {};
    return { kind: 'failed', failure: failure('malformed_answer', details) };
  }
  const result = await http.send(
    {
      method: 'GET',
      url: new URL(`${baseUrl ?? apiRoot}/file/bot${token}/${path}`),
      headers: {},
      body: null,
      deadlineAt: later(steady(), downloadMs),
      bodyBytesMax: bytesMax,
      asBytes: true,
    },
    stop,
  );
  if (result.kind === 'fault') {
    if (result.fault === 'answer_too_large') return { kind: 'too_large' };
    return { kind: 'failed', failure: failure(result.fault) };
  }
  if (result.status !== 200 || result.bytes === undefined) return failedBy(result.status);
  return { kind: 'fetched', bytes: result.bytes };
}

function failedBy(status: number): FetchResult {
  if (status === 401 || status === 403) {
    return { kind: 'failed', failure: failure('unauthorized', { status }) };
  }
  if (status === 429) return { kind: 'failed', failure: failure('rate_limited', { status }) };
  if (status >= 500) return { kind: 'failed', failure: failure('server_error', { status }) };
  return { kind: 'failed', failure: failure('not_found', { status }) };
}
