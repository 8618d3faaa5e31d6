/**
 * The names by which models know tools of MCP servers. Providers take letters, digits, `_` and `-`,
 * 64 at most, and a name of the configuration has dots.
 */
import { nodeCrypto } from '../../../lib/node-crypto.ts';

const lengthMax = 64;
const hashLength = 10;

/**
 * One to one within an agent: a name that another tool has already, or that is too long, ends with
 * the hash of the configured one.
 * @param names as configured, in listed order
 */
export function wireNames(names: readonly string[]): ReadonlyMap<string, string> {
  const own = names.filter((name) => !isRemote(name));
  const taken = new Set(own);
  const wire = new Map(own.map((name) => [name, name]));
  for (const name of names.filter(isRemote)) {
    const plain = name.replace(/[^A-Za-z0-9_-]/g, '_');
    let one = plain;
    for (let n = 0; taken.has(one) || one.length > lengthMax; n++) {
      const text = n === 0 ? name : `${name} ${n}`;
      const hash = nodeCrypto().createHash('sha256').update(text).digest('hex');
      one = `${plain.slice(0, lengthMax - hashLength - 1)}_${hash.slice(0, hashLength)}`;
    }
    taken.add(one);
    wire.set(name, one);
  }
  return wire;
}

const isRemote = (name: string): boolean => name.startsWith('mcp.');
