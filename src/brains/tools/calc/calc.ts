/**
 * The tool `calc`: evaluates one arithmetic expression, exactly where it can, always in bounded
 * time.
 */
import { oneText, textIn, type Tool } from '../tool.ts';

const description =
  'Works out an arithmetic expression. + - * / ^ and parentheses; a % b is the remainder with ' +
  'the sign of a, and 50% alone is 0.5, so 200 + 10% is 200.1: write 200 * 110% for more. ' +
  'Functions: abs sign sqrt cbrt exp ln log2 log10 log(x, base) sin cos tan asin acos atan ' +
  'atan2(y, x) sinh cosh tanh radians degrees hypot floor ceil trunc round(x, digits) min max ' +
  'mod(a, b) factorial. Angles are in radians. Constants: pi, e, tau. Numbers have a decimal ' +
  'point and no separators: 1234.5, 6.02e23.';

export function createCalc(): Tool {
  return {
    name: 'calc',
    description,
    parameters: oneText('expression', 'The expression, such as (3 + 4) * 2^10 / 7.'),
    effect: 'none',
    reachesOut: false,
    cage: null,
    check(args) {
      const { expression } = args;
      const text = typeof expression === 'number' ? String(expression) : textIn(args, 'expression');
      if (text === null) return { kind: 'invalid', text: 'expression must be a string.' };
      return {
        kind: 'ready',
        run: async () => {
          const { evaluate } = await import('./evaluate.ts');
          const result = evaluate(text);
          return result.kind === 'value'
            ? { kind: 'done', text: result.text, cut: false }
            : { kind: 'failed', text: `That cannot be worked out: ${result.text}` };
        },
      };
    },
  };
}
