/**
 * Fits a conversation to what a model can read. The wires ask for an error instead of a silent
 * cut; on that error the oldest half of the history is left out and the model is asked once more.
 * How many characters were too many is remembered, so that the next request is cut beforehand.
 */
import type { Outcome } from '../domain/outcome.ts';
import type { ModelRequest } from './model.ts';

export class Fitting {
  private charactersMax = Infinity;

  /** @param ask one call to the provider */
  async ask(
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<Outcome>,
  ): Promise<Outcome> {
    const cut = this.cutToFit(request);
    const first = await ask(cut);
    if (first.kind === 'answer') return withDropped(first, request, cut);
    if (first.failure.kind !== 'context_overflow' || cut.keptFrom === 0) return first;
    const half = dropOldest(cut, Math.ceil(cut.keptFrom / 2));
    this.charactersMax = charactersOf(half);
    const second = await ask(half);
    const tries = [...first.tries, ...second.tries];
    if (second.kind === 'answer') return { ...withDropped(second, request, half), tries };
    if (second.failure.kind === 'context_overflow') this.charactersMax /= 2;
    return { ...second, tries };
  }

  private cutToFit(request: ModelRequest): ModelRequest {
    if (this.charactersMax === Infinity) return request;
    const { lines, keptFrom } = request;
    let characters = charactersOf(request);
    let dropped = 0;
    while (dropped < keptFrom && characters > this.charactersMax) {
      characters -= lines[dropped]!.text.length;
      dropped++;
    }
    return dropped === 0 ? request : dropOldest(request, dropped);
  }
}

/** Leaves out so many lines, and the answers that would come first then; none that is kept. */
function dropOldest(request: ModelRequest, count: number): ModelRequest {
  const { lines, keptFrom } = request;
  let first = count;
  while (first < keptFrom && lines[first]!.role === 'assistant') first++;
  return { ...request, lines: lines.slice(first), keptFrom: keptFrom - first };
}

function charactersOf({ system, lines }: ModelRequest): number {
  let characters = system?.length ?? 0;
  for (const { text } of lines) characters += text.length;
  return characters;
}

function withDropped(
  answer: Extract<Outcome, { kind: 'answer' }>,
  whole: ModelRequest,
  sent: ModelRequest,
): Outcome {
  const linesDropped = whole.lines.length - sent.lines.length;
  return linesDropped === 0 ? answer : { ...answer, linesDropped };
}
