import type { ModelName } from '../../domain/ids.ts';
import { failureKinds } from '../../domain/failure.ts';
import { list, maybe, maybeText, object, oneOf, text, type IdText } from './schema.ts';

export const modelNameSchema = object({ model: text });

/** Of `ModelProbe` in model-probes.ts. */
export const modelProbeSchema = object({
  model: text as IdText<ModelName>,
  address: text,
  keyEnv: maybeText,
  failure: maybe(object({ kind: oneOf(...failureKinds), detail: text })),
  others: list(text),
});
