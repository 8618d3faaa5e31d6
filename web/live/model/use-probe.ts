import { useEffect, useState } from 'react';
import type { ModelProbe } from '../../../src/admin/model-probes.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { isLocalRuntime, isSeenByProbes } from './advice.ts';
import type { ProbeResult } from './verdict.ts';

/** The interval of probes while a person starts a runtime on this machine. */
const everyMs = 3_000;

/** Probes a model for an operator, repeatedly while its local runtime is away. */
export function useProbe(name: string | null): {
  readonly probed: ProbeResult | null;
  readonly refused: Refused | null;
} {
  const token = useToken((state) => state.token);
  const [probed, setProbed] = useState<ProbeResult | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  useEffect(() => {
    if (name === null || token === null) return undefined;
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (): void => void (timer = setTimeout(() => void probeNow(), everyMs));
    const probeNow = async (): Promise<void> => {
      if (document.hidden) return again();
      const answer = await probe(name, over.signal);
      if (over.signal.aborted) return;
      setRefused(answer.kind === 'refused' ? answer : null);
      if (answer.kind === 'ok') setProbed({ at: Date.now(), probe: answer.value });
      if (answer.kind === 'refused' || mayComeBack(answer.value)) again();
    };
    void probeNow();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [name, token]);
  return { probed, refused };
}

const probe = (model: string, signal: AbortSignal) =>
  ask<ModelProbe>('models/look', { method: 'POST', body: { model }, signal });

/** A hosted model is not probed repeatedly. A slow one may be faster the next time. */
const mayComeBack = ({ model, failure }: ModelProbe): boolean =>
  failure !== null &&
  isLocalRuntime(model) &&
  (isSeenByProbes(failure.kind) || failure.kind === 'timeout');
