/**
 * The providers, who refuse nothing and keep their own count of every call: now and then one fails,
 * omits its usage, or is slow.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelCall, Step } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startFakeOpenai } from '../../fake/openai.ts';

export type Tokens = { readonly input: number; readonly output: number };
export const none: Tokens = { input: 0, output: 0 };

export type Call = {
  /** Its name in svc. */
  readonly model: string;
  /** The marker in the text of the message, or of the trial. */
  readonly marker: string;
  /** The start of svc that made it. */
  readonly life: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The largest possible usage, by the bytes of the request and its limit of output. */
  readonly most: Tokens;
  /** The real usage, as the provider counts it. */
  readonly used: Tokens;
  /** The charge of svc after the answer: more, where the answer has no usage. */
  readonly charge: Tokens;
  /** `over`: the answer is on its way. `gone`: svc has left before. */
  state: 'open' | 'over' | 'gone';
};

const failing = 0.12;
const silent = 0.08;
const slow = 0.05;
const stepsMax = 3;

type Asked = {
  readonly model: string;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
};

export class Providers implements AsyncDisposable {
  /** In the order of their arrival. */
  readonly calls: Call[] = [];
  /** Called for each call as it arrives. */
  onCall: (call: Call) => void = () => {};
  readonly hosted: { readonly url: string };
  readonly local: { readonly url: string };
  readonly #random: () => number;
  readonly #own: AsyncDisposableStack;
  #waiting: (() => void)[] = [];

  private constructor(random: () => number, own: AsyncDisposableStack) {
    this.#random = random;
    this.#own = own;
    this.hosted = { url: '' };
    this.local = { url: '' };
  }

  static async start(random: () => number): Promise<Providers> {
    const own = new AsyncDisposableStack();
    const providers = new Providers(random, own);
    const hosted = own.use(await startFakeOpenai((call) => providers.#answerHosted(call)));
    const local = own.use(await startFakeOllama((call) => providers.#answerLocal(call)));
    return Object.assign(providers, { hosted, local });
  }

  /** Resolves at the next call to a model that costs. */
  nextCall(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }

  #answerHosted(call: ModelCall): Step {
    const asked = call.body as Asked;
    const marker = markerOf(asked);
    const bytes = Buffer.byteLength(call.text);
    const outputMax = asked.max_completion_tokens ?? asked.max_tokens ?? Number.NaN;
    const most = { input: halved(bytes), output: outputMax };
    const name = `hosted_runtime/${asked.model}`;
    const random = this.#random();
    if (random < failing) {
      const status = random < failing / 2 ? 500 : 429;
      const after = this.#note(call, name, { marker, most, used: none, charge: none });
      return { status, body: '{"error":{"message":"not now"}}', after };
    }
    const used = {
      input: Math.ceil(bytes / (3 + 2 * this.#random())),
      output: 1 + Math.floor(this.#random() * outputMax),
    };
    const isSilent = this.#random() < silent;
    const usage = { prompt_tokens: used.input, completion_tokens: used.output };
    const said = JSON.stringify({
      choices: [this.#choice(asked, marker)],
      ...(!isSilent && { usage }),
    });
    const written = Math.min(outputMax, halved(Buffer.byteLength(said)));
    // It cannot have written more than it has sent.
    const truth = isSilent ? { ...used, output: Math.min(used.output, written) } : used;
    const charge = isSilent ? { input: most.input, output: written } : used;
    const after = this.#note(call, name, { marker, most, used: truth, charge });
    return { status: 200, body: said, after };
  }

  #answerLocal(call: ModelCall): Step {
    const asked = call.body as Asked;
    const marker = markerOf(asked);
    const input = halved(Buffer.byteLength(call.text));
    const used = { input: Math.ceil(input / 2), output: 1 + Math.floor(this.#random() * 50) };
    const most = { input, output: 0 };
    const after = this.#note(call, 'local_runtime/m', { marker, most, used, charge: used });
    const more = { prompt_eval_count: used.input, eval_count: used.output };
    return { answer: `free: ${marker}`, more, after };
  }

  /** Some models disagree by chance; an agent takes some steps before it answers. */
  #choice({ model, messages }: Asked, marker: string): object {
    const took = messages.filter(({ role }) => role === 'tool').length;
    if (model.startsWith('agent') && took < stepsMax - 1 && this.#random() < 0.6) {
      const call = { name: 'calc', arguments: JSON.stringify({ expression: '6*7' }) };
      const tool_calls = [{ id: `call_${took}`, type: 'function', function: call }];
      const message = { role: 'assistant', content: null, tool_calls };
      return { index: 0, message, finish_reason: 'tool_calls' };
    }
    const differs = model.startsWith('consensus') && this.#random() < 0.2;
    const content = differs ? `other of ${model}` : `re: ${marker}`;
    return { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
  }

  /** Records the call; resolves when its answer is due. */
  async #note(
    call: ModelCall,
    model: string,
    facts: Pick<Call, 'marker' | 'most' | 'used' | 'charge'>,
  ): Promise<void> {
    const life = (call.headers.authorization ?? '').replace('Bearer ', '');
    const noted: Call = { model, life, at: call.at, ...facts, state: 'open' };
    this.calls.push(noted);
    this.onCall(noted);
    if (life !== '') for (const wake of this.#waiting.splice(0)) wake();
    void watch(noted, call);
    const longest = this.#random() < slow ? 150 : 25;
    await pause(this.#random() * longest);
    if (noted.state === 'open') noted.state = 'over';
  }
}

async function watch(noted: Call, { over }: ModelCall): Promise<void> {
  if ((await over) === 'gone') noted.state = 'gone';
}

const halved = (bytes: number): number => Math.ceil(bytes / 2);

function markerOf({ messages }: Asked): string {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => String(content));
  const markers = said.join('\n').match(/\b(turn|trial)-\d+-\d+\b/g);
  return markers?.at(-1) ?? 'none';
}
