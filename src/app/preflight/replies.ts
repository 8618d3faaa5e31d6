/** The address that replies are posted to. */
import { connect } from 'node:net';
import { ok, warning, type PreflightLine } from './lines.ts';

const connectMs = 5_000;

/**
 * Connects to where a channel posts its replies, and sends nothing. What does not answer is a
 * warning: replies wait for it.
 * @param left aborts when nobody waits for the line any more
 */
export async function repliesLine(
  { url, field }: { readonly url: string; readonly field: string },
  left?: AbortSignal,
): Promise<PreflightLine> {
  const { hostname, origin, port, protocol } = new URL(url);
  const subject = `replies to ${origin}`;
  const host = hostname.replace(/^\[|\]$/g, '');
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  const found = await connectTo(host, number, left);
  if (found.kind === 'connected') return ok(subject, `${found.address} takes connections`);
  const { code } = found;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const remedy = `Check the host in ${field}; until it is found, replies wait.`;
    return warning(subject, `the host ${hostname} cannot be found`, remedy);
  }
  const act = `Start what takes the replies (svc receive prints them), or change ${field}`;
  return warning(
    subject,
    `nobody takes connections there (${code})`,
    `${act}; until then, replies wait.`,
  );
}

type Found =
  | { readonly kind: 'connected'; readonly address: string }
  | { readonly kind: 'failed'; readonly code: string };

function connectTo(host: string, port: number, left?: AbortSignal): Promise<Found> {
  return new Promise((resolve) => {
    const signals = [AbortSignal.timeout(connectMs), ...(left === undefined ? [] : [left])];
    const ended = AbortSignal.any(signals);
    const socket = connect({ host, port, signal: ended });
    socket.on('connect', () => {
      resolve({ kind: 'connected', address: socket.remoteAddress ?? host });
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = ended.aborted ? 'ETIMEDOUT' : (error.code ?? error.name);
      resolve({ kind: 'failed', code });
    });
  });
}
