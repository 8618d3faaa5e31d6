/** A model inside the process; the test gives the outcomes. */
import { failure, type Failure, type FailureKind } from '../../src/domain/failure.ts';
import type { ModelName } from '../../src/domain/ids.ts';
import type { Outcome, ToolCall } from '../../src/domain/outcome.ts';
import type { Model, ModelCheck, ModelRequest, Vision } from '../../src/brains/models/model.ts';
import type { Stop } from '../../src/lib/stop.ts';

/** One question that waits for its outcome. */
export type Question = {
  /** The id of the model. */
  readonly asked: string;
  readonly request: ModelRequest;
  readonly stop: Stop;
  answer(text: string, calls?: readonly ToolCall[]): Promise<void>;
  fail(kind: FailureKind, more?: Partial<Failure>): Promise<void>;
  throw(error: Error): Promise<void>;
};

export class ScriptedModel implements Model {
  readonly name: ModelName;
  readonly provider = 'local_runtime';
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  readonly mayForward = false;
  /** Whether it accepts pictures. */
  seesPictures: Vision = false;
  readonly questions: Question[];

  /** @param questions receives all its questions: several models may share one list */
  constructor(modelId: string, locality: 'local' | 'cloud' = 'local', questions: Question[] = []) {
    this.questions = questions;
    this.modelId = modelId;
    this.name = `local_runtime/${modelId}` as ModelName;
    this.locality = locality;
  }

  get last(): Question {
    return this.questions.at(-1)!;
  }

  sees(): Promise<Vision> {
    return Promise.resolve(this.seesPictures);
  }

  ask(request: ModelRequest, stop: Stop): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const startedAt = Date.now();
    const failed = (kind: FailureKind, more: Partial<Failure> = {}): Outcome => ({
      kind: 'failed',
      failure: { ...failure(kind), ...more },
      tries: [{ startedAt, ms: Date.now() - startedAt, failed: kind }],
    });
    stop.listen(() => resolve(failed('cancelled')));
    this.questions.push({
      asked: this.modelId,
      request,
      stop,
      answer(text, calls = []) {
        const tries = [{ startedAt, ms: Date.now() - startedAt, failed: null }];
        resolve({ kind: 'answer', text, calls, usage: null, tries, linesDropped: 0 });
        return settled();
      },
      fail(kind, more) {
        resolve(failed(kind, more));
        return settled();
      },
      throw(error) {
        reject(error);
        return settled();
      },
    });
    return promise;
  }

  check(): Promise<ModelCheck> {
    return Promise.resolve({ kind: 'reached', hasModel: true, runs: 'here', others: [] });
  }
}

/** Resolves when all timerless consequences of an outcome have happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
