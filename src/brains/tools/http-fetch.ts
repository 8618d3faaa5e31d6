/**
 * The tool `http_fetch`: gets text from the web, from listed hosts only. The cage judges each
 * redirect anew.
 */
import type { AgentConfig } from '../../config/config.ts';
import { earlier, later } from '../../lib/clock.ts';
import { answerText, textKindOf, whyNoText } from './answer-text.ts';
import {
  sendCaged,
  createHostCage,
  hostsForModel,
  hostCountText,
  type CagedAnswer,
  type NetworkDeps,
  type HostCage,
} from './caged-request.ts';
import type { Tool, ToolResult, ToolSurroundings } from './tool.ts';

type FetchCage = NonNullable<AgentConfig['httpFetch']>;
type Answer = Extract<CagedAnswer, { kind: 'answer' }>;

const totalMs = 30_000;
/** Reads more of a page than the model gets: most of a page is markup. */
const pageBytesMax = 512 * 1024;

const redirects = new Set([301, 302, 303, 307, 308]);

const parameters = {
  type: 'object',
  properties: {
    url: { type: 'string', description: 'The whole address: https://example.com/page.' },
  },
  required: ['url'],
} as const;

export function createHttpFetch(cage: FetchCage, deps: NetworkDeps): Tool {
  const hosts = createHostCage(cage.allowHosts, deps);
  return {
    name: 'http_fetch',
    description:
      'Gets a text or web page by HTTP GET; gives back the status and the text, cut where it is ' +
      `long. ${hostsForModel(cage.allowHosts)}`,
    parameters,
    effect: 'none',
    reachesOut: true,
    cage: `GET, ${hostCountText(cage.allowHosts)}`,
    check({ url }) {
      if (typeof url !== 'string') return { kind: 'invalid', text: 'url must be a string.' };
      return {
        kind: 'ready',
        run: (surroundings) => fetchText(url, cage, hosts, deps, surroundings),
      };
    },
  };
}

async function fetchText(
  url: string,
  cage: FetchCage,
  hosts: HostCage,
  deps: NetworkDeps,
  surroundings: ToolSurroundings,
): Promise<ToolResult> {
  const deadlineAt = earlier(later(deps.steady(), totalMs), surroundings.deadlineAt);
  const request = {
    method: 'GET',
    headers: {
      accept: 'text/html, text/plain, application/json, */*;q=0.1',
      'accept-encoding': 'identity',
    },
    body: null,
    deadlineAt,
    bodyBytesMax: Math.max(cage.bytesMax, pageBytesMax),
    wantsBody: (status, headers) =>
      !(redirects.has(status) && headers.location !== undefined) && textKindOf(headers) !== null,
  } as const satisfies Partial<Parameters<typeof sendCaged>[0]>;
  let address = url;
  let base: URL | null = null;
  for (let followed = 0; ; followed++) {
    const answer = await sendCaged({ ...request, address, base }, hosts, deps, surroundings);
    if (answer.kind === 'refused') {
      return { ...answer, text: `It was not fetched. ${redirectPrefix(followed)}${answer.text}` };
    }
    if (answer.kind === 'failed') {
      return { kind: 'failed', text: `${redirectPrefix(followed)}${answer.text}` };
    }
    const next = redirectTarget(answer);
    if (next === null) return resultOf(answer, cage.bytesMax);
    if (followed === cage.redirectsMax) {
      const text = `It was not fetched: it redirects, and ${followed} redirects are the most.`;
      return { kind: 'refused', rule: 'too_many_redirects', text };
    }
    [address, base] = [next, answer.url];
  }
}

const redirectPrefix = (redirectsFollowed: number): string =>
  redirectsFollowed === 0 ? '' : 'It redirects. ';

/** Header values come as bytes; a Location beyond ASCII is UTF-8 in practice. */
function redirectTarget({ status, headers: { location } }: Answer): string | null {
  if (!redirects.has(status) || location === undefined) return null;
  return Buffer.from(location, 'latin1').toString('utf8');
}

async function resultOf(answer: Answer, bytesMax: number): Promise<ToolResult> {
  const { status, headers, body, whole, url } = answer;
  const kind = textKindOf(headers);
  const head = `Status ${status} from ${url.href}`;
  if (kind === null) return { kind: 'failed', text: `${head}. ${whyNoText(headers)}` };
  const { text, cut } = await answerText(body, whole, kind, bytesMax);
  return { kind: 'done', text: `${head}, ${kind.type}:\n${text}`, cut };
}
