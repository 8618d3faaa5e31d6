/** The last lines of a log file, as a person reads them. */
import { open } from 'node:fs/promises';

const bytesMax = 65_536;
const linesMax = 200;

/** @returns oldest first; none where there is no file, or nothing in it */
export async function readLastLines(path: string): Promise<readonly string[]> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const start = Math.max(0, size - bytesMax);
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    const lines = bytes.subarray(0, bytesRead).toString('utf8').split('\n');
    // The first one may begin anywhere.
    const whole = start > 0 ? lines.slice(1) : lines;
    return whole
      .filter((line) => line.trim() !== '')
      .slice(-linesMax)
      .map(lineFor);
  } catch {
    return [];
  }
}

/** A line of a log of svc in words; any other as it is. */
function lineFor(line: string): string {
  const fields = parse(line);
  if (fields === null) return line;
  const { time, level, code, message, ...more } = fields;
  if (typeof message !== 'string' || typeof level !== 'string') return line;
  const rest = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const tail = rest.length === 0 ? '' : ` (${rest.join(', ')})`;
  return `${timeFor(time)}${level.padEnd(5)} ${message}${tail} [${String(code)}]`;
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** In the time of this machine. */
function timeFor(time: unknown): string {
  const date = new Date(typeof time === 'string' ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${date.toTimeString().slice(0, 8)} `;
}
