/**
 * The local runtime's JSON.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
import { isCloudTag } from '../../domain/cloud-tag.ts';
import { answerOf, callsOf, failed, failureOf, listOf } from '../parsing.ts';
import { messagesOf, parseJson, recordOf, textOf, toolsOf, usageOf } from '../parsing.ts';
import type { CallWire, Parsed } from '../parsing.ts';
import type { ModelRequest } from '../model.ts';

/**
 * The body of `POST /api/chat`. Without `stream: false` it would stream; without `truncate` and
 * `shift` false it would silently forget the oldest lines of a long conversation.
 */
export function toWire(modelId: string, request: ModelRequest): string {
  return JSON.stringify({
    model: modelId,
    messages: messagesOf(request, callWire),
    ...toolsOf(request),
    stream: false,
    think: false,
    truncate: false,
    shift: false,
  });
}

/** Arguments go as an object, and a result names its tool. */
const callWire: CallWire = {
  call: ({ name, arguments: given }) => ({ function: { name, arguments: argumentsOf(given) } }),
  result: ({ name }) => ({ tool_name: name }),
};

function argumentsOf(given: unknown): object {
  return recordOf(typeof given === 'string' ? parseJson(given) : given) ?? {};
}

/** @param retryAfterMs what the answer's header asks us to wait */
export function fromWire(
  status: number,
  body: string,
  retryAfterMs: number | null,
  offered: boolean,
): Parsed {
  const root = recordOf(parseJson(body));
  const error = textOf(root?.['error']);
  if (status !== 200) return { kind: 'failed', failure: failureOf(status, error, retryAfterMs) };
  if (root === null) return failed('malformed_answer', { status });
  if (root['error']) {
    return { kind: 'failed', failure: failureOf(500, error, null) };
  }
  const message = recordOf(root['message']);
  if (message === null || root['done'] === false) return failed('malformed_answer', { status });
  return answerOf(textOf(message['content']), {
    calls: callsOf(message['tool_calls']),
    offered,
    usage: usageOf(root['prompt_eval_count'], root['eval_count']),
    remoteHost: textOf(root['remote_host']) || null,
  });
}

/** What `GET /api/tags` says of one model; null when it is no list of models. */
export function findTag(
  body: string,
  modelId: string,
): { readonly hasModel: boolean; readonly leavesMachine: boolean } | null {
  const models = recordOf(parseJson(body))?.['models'];
  if (!Array.isArray(models)) return null;
  const wanted = withTag(modelId);
  const found = listOf(models)
    .map(recordOf)
    .find((model) => withTag(textOf(model?.['name']) || textOf(model?.['model'])) === wanted);
  return {
    hasModel: found !== undefined,
    leavesMachine: textOf(found?.['remote_host']) !== '' || isCloudTag(modelId),
  };
}

/** A name without a tag means its `latest`; the slash of a namespace is no tag. */
function withTag(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1).includes(':') ? name : `${name}:latest`;
}
