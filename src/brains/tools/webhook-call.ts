/**
 * The tool `webhook_call`: sends JSON from the model to a listed host by POST, once, and follows no
 * redirect.
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

type CallCage = NonNullable<AgentConfig['webhookCall']>;

const bodyBytesMax = 1024 * 1024;

const parameters = {
  type: 'object',
  properties: {
    url: { type: 'string', description: 'The whole address: https://example.com/hook.' },
    body: { description: 'What is sent: any JSON value.' },
  },
  required: ['url', 'body'],
} as const;

export function createWebhookCall(cage: CallCage, deps: NetworkDeps): Tool {
  const hosts = createHostCage(cage.allowHosts, deps);
  return {
    name: 'webhook_call',
    description:
      'Sends JSON to a web address by HTTP POST, which may change something there; gives back ' +
      `the status and the text of the answer. ${hostsForModel(cage.allowHosts)}`,
    parameters,
    effect: 'outside',
    reachesOut: true,
    cage: `POST, ${hostCountText(cage.allowHosts)}`,
    check({ url, body }) {
      if (typeof url !== 'string') return { kind: 'invalid', text: 'url must be a string.' };
      const json = JSON.stringify(body);
      if (Buffer.byteLength(json) > bodyBytesMax) {
        return { kind: 'invalid', text: `body may have ${bodyBytesMax} bytes at most.` };
      }
      return {
        kind: 'ready',
        run: (surroundings) => post(url, json, { cage, hosts, deps }, surroundings),
      };
    },
  };
}

type CallDeps = { readonly cage: CallCage; readonly hosts: HostCage; readonly deps: NetworkDeps };

async function post(
  url: string,
  json: string,
  { cage, hosts, deps }: CallDeps,
  surroundings: ToolSurroundings,
): Promise<ToolResult> {
  const answer = await sendCaged(
    {
      method: 'POST',
      address: url,
      base: null,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/*;q=0.9, */*;q=0.1',
        'accept-encoding': 'identity',
        'idempotency-key': surroundings.key,
      },
      body: json,
      deadlineAt: earlier(later(deps.steady(), cage.timeoutMs), surroundings.deadlineAt),
      bodyBytesMax: cage.bytesMax,
      wantsBody: (_status, headers) => textKindOf(headers) !== null,
    },
    hosts,
    deps,
    surroundings,
  );
  switch (answer.kind) {
    case 'refused':
      return { ...answer, text: `Nothing was sent. ${answer.text}` };
    case 'failed':
      return { kind: 'failed', text: `${answer.text} ${effectSentence(answer)}` };
    case 'answer':
      return resultOf(answer, cage.bytesMax);
    default:
      return answer satisfies never;
  }
}

function effectSentence({ sent, status }: Extract<CagedAnswer, { kind: 'failed' }>): string {
  if (!sent) return 'Nothing was sent.';
  if (status !== null) return `The status was ${status}.`;
  return 'Whether it took effect is not known; it was not repeated.';
}

async function resultOf(
  { status, headers, body, whole }: Extract<CagedAnswer, { kind: 'answer' }>,
  bytesMax: number,
): Promise<ToolResult> {
  const kind = textKindOf(headers);
  const { text, cut } =
    kind === null
      ? { text: whyNoText(headers), cut: false }
      : await answerText(body, whole, kind, bytesMax);
  const head = `Status ${status}${redirectNote(status)}`;
  const full = text === '' ? `${head}.` : `${head}:\n${text}`;
  if (status >= 200 && status < 300) return { kind: 'done', text: full, cut };
  return { kind: 'failed', text: full };
}

function redirectNote(status: number): string {
  return status >= 300 && status < 400 ? ', a redirect, which is not followed' : '';
}
