import type { ToolOutcome } from '../../../src/domain/tool-use.ts';
import type { Tone } from '../../kit/state.tsx';

export function toneOfTool(outcome: ToolOutcome): Tone {
  if (outcome === 'done') return 'good';
  return outcome === 'rehearsed' || outcome === 'unknown' ? 'wait' : 'bad';
}
