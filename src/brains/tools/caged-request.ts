import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import { sendPinned, type PinnedRequest, type PinnedResult } from '../../lib/pinned-client.ts';
import type { Admission, HostCage, Refusal, ReservedPlaces, Resolve } from './host-cage.ts';
import type { ToolSurroundings } from './tool.ts';

/** What the tools that use the network need of the process. */
export type NetworkDeps = Clock & {
  readonly deadlines: Deadlines;
  readonly resolve: Resolve;
  readonly reserved: ReservedPlaces;
  /** The program's own version, told to the servers that are asked. */
  readonly version: string;
};

export type CagedRequest = Pick<
  PinnedRequest,
  'method' | 'headers' | 'body' | 'deadlineAt' | 'bodyBytesMax' | 'wantsBody'
> & {
  /** As the model or a redirect wrote it. */
  readonly address: string;
  readonly base: URL | null;
};

export type CagedAnswer =
  | (Extract<PinnedResult, { kind: 'answer' }> & { readonly url: URL })
  | Refusal
  | {
      readonly kind: 'failed';
      readonly text: string;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /** The status of an answer that broke off; null: no answer had begun. */
      readonly status: number | null;
    };

const connectMs = 5_000;
/** At most so many addresses of one name are tried, while none has been connected to. */
const triesMax = 4;

/** One request, if the cage admits it, to an address that the cage has judged. */
export async function sendCaged(
  request: CagedRequest,
  cage: HostCage,
  deps: NetworkDeps,
  { signal, sensitivity }: ToolSurroundings,
): Promise<CagedAnswer> {
  const asked = cage.admit(request.address, request.base, sensitivity);
  const admission = await unlessEnded(asked, request.deadlineAt, deps.deadlines, signal);
  if (admission.kind === 'refused') return admission;
  if (admission.kind !== 'admitted') return unsent(admission.text);
  let last: CagedAnswer = unsent('It has no address.');
  for (const address of admission.addresses.slice(0, triesMax)) {
    const connectDeadlineAt = later(deps.steady(), connectMs);
    const pinned = { ...request, url: admission.url, address, connectDeadlineAt };
    const headers = { ...request.headers, 'user-agent': `svc/${deps.version}` };
    const result = await sendPinned({ ...pinned, headers }, deps.deadlines, signal);
    if (result.kind === 'answer') return { ...result, url: admission.url };
    const { sent, status } = result;
    last = { kind: 'failed', text: faultText(result), sent, status };
    const another = result.fault === 'connect_failed' || result.fault === 'connect_timeout';
    if (!another || deps.steady() >= request.deadlineAt) return last;
  }
  return last;
}

const unsent = (text: string): CagedAnswer => ({ kind: 'failed', text, sent: false, status: null });

type Ended = { readonly kind: 'ended'; readonly text: string };

/** A look-up cannot be called off, so its result may come too late. */
async function unlessEnded(
  admission: Promise<Admission>,
  deadlineAt: SteadyTime,
  deadlines: Deadlines,
  signal: AbortSignal,
): Promise<Admission | Ended> {
  let deadline: Deadline | undefined;
  let cancel: (() => void) | undefined;
  const ended = new Promise<Ended>((resolve) => {
    cancel = () => resolve({ kind: 'ended', text: `${texts.cancelled}.` });
    deadline = deadlines.at(deadlineAt, () => {
      resolve({ kind: 'ended', text: 'The name was not resolved in time.' });
    });
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
  });
  const first = await Promise.race([admission, ended]);
  deadline?.cancel();
  signal.removeEventListener('abort', cancel!);
  return first;
}

const texts = {
  connect_failed: 'No connection could be made',
  connect_timeout: 'No connection was made in time',
  connection_lost: 'The connection broke off before the answer was whole',
  answer_too_large: 'Far more came around the answer than an answer needs',
  timeout: 'The answer did not come whole in time',
  cancelled: 'The call was cancelled',
} as const;

function faultText({ fault, code }: Extract<PinnedResult, { kind: 'fault' }>): string {
  return code === null ? `${texts[fault]}.` : `${texts[fault]} (${code}).`;
}
